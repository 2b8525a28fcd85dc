# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of a pod's specification, as in Kthena's CRDs (v0.4.0, v1.0.0) and the pod API of Kubernetes 1.36."""

from __future__ import annotations

from .shapes import (
    ANY_OBJECT,
    BOOL,
    INT32,
    INT64,
    INT_OR_STR,
    QUANTITY,
    STR,
    defaulted,
    extended,
    mapping,
    sequence,
    struct,
)

MATCH_EXPRESSION = struct(key=STR, operator=STR, values=sequence(STR), required="key operator")
NODE_SELECTOR_TERM = struct(matchExpressions=sequence(MATCH_EXPRESSION), matchFields=sequence(MATCH_EXPRESSION))
NODE_AFFINITY = struct(
    preferredDuringSchedulingIgnoredDuringExecution=sequence(
        struct(preference=NODE_SELECTOR_TERM, weight=INT32, required="preference weight")
    ),
    requiredDuringSchedulingIgnoredDuringExecution=struct(
        nodeSelectorTerms=sequence(NODE_SELECTOR_TERM), required="nodeSelectorTerms"
    ),
)
LABEL_SELECTOR = struct(matchExpressions=sequence(MATCH_EXPRESSION), matchLabels=mapping(STR))
POD_AFFINITY_TERM = struct(
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=sequence(STR),
    mismatchLabelKeys=sequence(STR),
    namespaceSelector=LABEL_SELECTOR,
    namespaces=sequence(STR),
    topologyKey=STR,
    required="topologyKey",
)
WEIGHTED_POD_AFFINITY_TERM = struct(podAffinityTerm=POD_AFFINITY_TERM, weight=INT32, required="podAffinityTerm weight")
POD_AFFINITY = struct(
    preferredDuringSchedulingIgnoredDuringExecution=sequence(WEIGHTED_POD_AFFINITY_TERM),
    requiredDuringSchedulingIgnoredDuringExecution=sequence(POD_AFFINITY_TERM),
)
KEY_OF_OBJECT = struct(key=STR, name=defaulted(STR, ""), optional=BOOL, required="key")
FIELD_REF = struct(apiVersion=STR, fieldPath=STR, required="fieldPath")
FILE_KEY_REF = struct(
    key=STR, optional=defaulted(BOOL, False), path=STR, volumeName=STR, required="key path volumeName"
)
RESOURCE_FIELD_REF = struct(containerName=STR, divisor=QUANTITY, resource=STR, required="resource")
VALUE_FROM = struct(
    configMapKeyRef=KEY_OF_OBJECT,
    fieldRef=FIELD_REF,
    fileKeyRef=FILE_KEY_REF,
    resourceFieldRef=RESOURCE_FIELD_REF,
    secretKeyRef=KEY_OF_OBJECT,
)
ENV = struct(name=STR, value=STR, valueFrom=VALUE_FROM, required="name")
OBJECT_REF = struct(name=defaulted(STR, ""), optional=BOOL)
ENV_FROM = struct(configMapRef=OBJECT_REF, prefix=STR, secretRef=OBJECT_REF)
EXEC = struct(command=sequence(STR))
NAME_VALUE = struct(name=STR, value=STR, required="name value")
HTTP_GET = struct(host=STR, httpHeaders=sequence(NAME_VALUE), path=STR, port=INT_OR_STR, scheme=STR, required="port")
SLEEP = struct(seconds=INT64, required="seconds")
TCP_SOCKET = struct(host=STR, port=INT_OR_STR, required="port")
HANDLER = struct(exec=EXEC, httpGet=HTTP_GET, sleep=SLEEP, tcpSocket=TCP_SOCKET)
LIFECYCLE = struct(postStart=HANDLER, preStop=HANDLER, stopSignal=STR)
GRPC = struct(port=INT32, service=defaulted(STR, ""), required="port")
PROBE = struct(
    exec=EXEC,
    failureThreshold=INT32,
    grpc=GRPC,
    httpGet=HTTP_GET,
    initialDelaySeconds=INT32,
    periodSeconds=INT32,
    successThreshold=INT32,
    tcpSocket=TCP_SOCKET,
    terminationGracePeriodSeconds=INT64,
    timeoutSeconds=INT32,
)
PORT = struct(
    containerPort=INT32, hostIP=STR, hostPort=INT32, name=STR, protocol=defaulted(STR, "TCP"), required="containerPort"
)
RESIZE_POLICY = struct(resourceName=STR, restartPolicy=STR, required="resourceName restartPolicy")
CLAIM = struct(name=STR, request=STR, required="name")
RESOURCES = struct(claims=sequence(CLAIM, keys="name"), limits=mapping(QUANTITY), requests=mapping(QUANTITY))
EXIT_CODES = struct(operator=STR, values=sequence(INT32, unique=True), required="operator")
RESTART_POLICY_RULE = struct(action=STR, exitCodes=EXIT_CODES, required="action")
PROFILE = struct(localhostProfile=STR, type=STR, required="type")
CAPABILITIES = struct(add=sequence(STR), drop=sequence(STR))
SECURITY_CONTEXT = struct(
    allowPrivilegeEscalation=BOOL,
    appArmorProfile=PROFILE,
    capabilities=CAPABILITIES,
    privileged=BOOL,
    procMount=STR,
    readOnlyRootFilesystem=BOOL,
    runAsGroup=INT64,
    runAsNonRoot=BOOL,
    runAsUser=INT64,
    seLinuxOptions=ANY_OBJECT,
    seccompProfile=PROFILE,
    windowsOptions=ANY_OBJECT,
)
VOLUME_DEVICE = struct(devicePath=STR, name=STR, required="devicePath name")
VOLUME_MOUNT = struct(
    mountPath=STR,
    mountPropagation=STR,
    name=STR,
    readOnly=BOOL,
    recursiveReadOnly=STR,
    subPath=STR,
    subPathExpr=STR,
    required="mountPath name",
)
CONTAINER = struct(
    args=sequence(STR),
    command=sequence(STR),
    env=sequence(ENV, keys="name"),
    envFrom=sequence(ENV_FROM),
    image=STR,
    imagePullPolicy=STR,
    lifecycle=LIFECYCLE,
    livenessProbe=PROBE,
    name=STR,
    ports=sequence(PORT, keys="containerPort protocol"),
    readinessProbe=PROBE,
    resizePolicy=sequence(RESIZE_POLICY),
    resources=RESOURCES,
    restartPolicy=STR,
    restartPolicyRules=sequence(RESTART_POLICY_RULE),
    securityContext=SECURITY_CONTEXT,
    startupProbe=PROBE,
    stdin=BOOL,
    stdinOnce=BOOL,
    terminationMessagePath=STR,
    terminationMessagePolicy=STR,
    tty=BOOL,
    volumeDevices=sequence(VOLUME_DEVICE, keys="devicePath"),
    volumeMounts=sequence(VOLUME_MOUNT, keys="mountPath"),
    workingDir=STR,
    required="name",
)
EPHEMERAL_CONTAINER = extended(CONTAINER, targetContainerName=STR)
LOCAL_REF = struct(name=defaulted(STR, ""))
NAMED = struct(name=STR, required="name")
POD_SECURITY_CONTEXT = struct(
    appArmorProfile=PROFILE,
    fsGroup=INT64,
    fsGroupChangePolicy=STR,
    runAsGroup=INT64,
    runAsNonRoot=BOOL,
    runAsUser=INT64,
    seLinuxChangePolicy=STR,
    seLinuxOptions=ANY_OBJECT,
    seccompProfile=PROFILE,
    supplementalGroups=sequence(INT64),
    supplementalGroupsPolicy=STR,
    sysctls=sequence(NAME_VALUE),
    windowsOptions=ANY_OBJECT,
)
TOPOLOGY_SPREAD_CONSTRAINT = struct(
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=sequence(STR),
    maxSkew=INT32,
    minDomains=INT32,
    nodeAffinityPolicy=STR,
    nodeTaintsPolicy=STR,
    topologyKey=STR,
    whenUnsatisfiable=STR,
    required="maxSkew topologyKey whenUnsatisfiable",
)
KEY_TO_PATH = struct(key=STR, mode=INT32, path=STR, required="key path")
DOWNWARD_ITEM = struct(fieldRef=FIELD_REF, mode=INT32, path=STR, resourceFieldRef=RESOURCE_FIELD_REF, required="path")
CONFIG_MAP = struct(items=sequence(KEY_TO_PATH), name=defaulted(STR, ""), optional=BOOL)
# Fields of the other kinds are left to the server, which tells about them in the dry run of the pod.
OTHER_VOLUMES = (
    "awsElasticBlockStore azureDisk azureFile cephfs cinder csi ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs image iscsi "
    "nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume"
)
PROJECTED_SOURCE = struct(
    clusterTrustBundle=ANY_OBJECT,
    configMap=CONFIG_MAP,
    downwardAPI=struct(items=sequence(DOWNWARD_ITEM)),
    podCertificate=ANY_OBJECT,
    secret=CONFIG_MAP,
    serviceAccountToken=struct(audience=STR, expirationSeconds=INT64, path=STR, required="path"),
)
VOLUME = struct(
    configMap=struct(defaultMode=INT32, items=sequence(KEY_TO_PATH), name=defaulted(STR, ""), optional=BOOL),
    downwardAPI=struct(defaultMode=INT32, items=sequence(DOWNWARD_ITEM)),
    emptyDir=struct(medium=STR, sizeLimit=QUANTITY),
    hostPath=struct(path=STR, type=STR, required="path"),
    name=STR,
    persistentVolumeClaim=struct(claimName=STR, readOnly=BOOL, required="claimName"),
    projected=struct(defaultMode=INT32, sources=sequence(PROJECTED_SOURCE)),
    secret=struct(defaultMode=INT32, items=sequence(KEY_TO_PATH), optional=BOOL, secretName=STR),
    **dict.fromkeys(OTHER_VOLUMES.split(), ANY_OBJECT),
    required="name",
)
POD_SPEC = struct(
    activeDeadlineSeconds=INT64,
    affinity=struct(nodeAffinity=NODE_AFFINITY, podAffinity=POD_AFFINITY, podAntiAffinity=POD_AFFINITY),
    automountServiceAccountToken=BOOL,
    containers=sequence(CONTAINER, keys="name"),
    dnsConfig=struct(nameservers=sequence(STR), options=sequence(struct(name=STR, value=STR)), searches=sequence(STR)),
    dnsPolicy=STR,
    enableServiceLinks=BOOL,
    ephemeralContainers=sequence(EPHEMERAL_CONTAINER, keys="name"),
    hostAliases=sequence(struct(hostnames=sequence(STR), ip=STR, required="ip")),
    hostIPC=BOOL,
    hostNetwork=BOOL,
    hostPID=BOOL,
    hostUsers=BOOL,
    hostname=STR,
    hostnameOverride=STR,
    imagePullSecrets=sequence(LOCAL_REF, keys="name"),
    initContainers=sequence(CONTAINER, keys="name"),
    nodeName=STR,
    nodeSelector=mapping(STR),
    os=NAMED,
    overhead=mapping(QUANTITY),
    preemptionPolicy=STR,
    priority=INT32,
    priorityClassName=STR,
    readinessGates=sequence(struct(conditionType=STR, required="conditionType")),
    resourceClaims=sequence(
        struct(name=STR, resourceClaimName=STR, resourceClaimTemplateName=STR, required="name"), keys="name"
    ),
    resources=RESOURCES,
    restartPolicy=STR,
    runtimeClassName=STR,
    schedulerName=STR,
    schedulingGates=sequence(NAMED, keys="name"),
    securityContext=POD_SECURITY_CONTEXT,
    serviceAccount=STR,
    serviceAccountName=STR,
    setHostnameAsFQDN=BOOL,
    shareProcessNamespace=BOOL,
    subdomain=STR,
    terminationGracePeriodSeconds=INT64,
    tolerations=sequence(struct(effect=STR, key=STR, operator=STR, tolerationSeconds=INT64, value=STR)),
    topologySpreadConstraints=sequence(TOPOLOGY_SPREAD_CONSTRAINT, keys="topologyKey whenUnsatisfiable"),
    volumes=sequence(VOLUME, keys="name"),
    required="containers",
)
