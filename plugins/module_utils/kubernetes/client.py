# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to an API server through the Python library ``kubernetes``, 24.2 or later.

Paths are known, so nothing is discovered: the library's dynamic client is used for its requests only. It is the one
interface for them that has stayed the same while the generated client changed.
"""

from __future__ import annotations

import json
import os
import traceback

from .errors import KubernetesProblem, Refused, Unreachable

try:
    from kubernetes import config
    from kubernetes.client import ApiClient, ApiException, Configuration
    from kubernetes.dynamic import DynamicClient
    from urllib3.exceptions import HTTPError
    from urllib3.util import Retry

    LIBRARY_ERROR = None
except ImportError:
    LIBRARY_ERROR = traceback.format_exc()
    DynamicClient, ApiException, HTTPError = object, None, None

TIMEOUT = (5, 60)  # seconds to connect, and between two parts of an answer
FIRST = (5, 10)  # the same of a server that has not answered yet
APPLY = "application/apply-patch+yaml"  # JSON is YAML


class _Requests(DynamicClient):
    """The dynamic client without its discovery."""

    def __init__(self, client):
        self.client, self.configuration = client, client.configuration


class Client:
    """A server, as a kubeconfig or the service account of the pod that this runs in describes it."""

    has_answered = False

    def __init__(self, kubeconfig=None, context=None):
        self.place = "context {} of {}".format(
            context or "(current)", kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        )
        try:
            found = self._configured(kubeconfig, context)
        except (config.ConfigException, OSError, ValueError, TypeError) as error:
            text = f"No cluster can be addressed by {self.place}: {error}. Set kubeconfig and context."
            raise KubernetesProblem(text) from error
        self.url = found.configuration.host
        self.requests = _Requests(found)

    @staticmethod
    def _configured(kubeconfig, context):
        found = Configuration()
        # Cluster asks again, and waits as long as a busy server asks for; the library would multiply its attempts.
        found.retries = Retry(0, respect_retry_after_header=False)
        try:
            config.load_kube_config(kubeconfig or None, context or None, client_configuration=found)
        except config.ConfigException:
            if kubeconfig or context or not os.environ.get("KUBERNETES_SERVICE_HOST"):
                raise
            config.load_incluster_config(client_configuration=found)
        return ApiClient(found)

    def request(self, method, path, query=None, body=None, form="application/json"):
        """The server's answer as data; ``Refused`` or ``Unreachable``."""
        text = self.text(method, path, query, body, form)
        try:
            return json.loads(text)
        except ValueError as error:
            raise KubernetesProblem(
                f"{self.url} of {self.place} answers with something else than JSON ({text[:60]!r}). "
                "Check that the address is an API server's, and not a login page or a proxy in front of it."
            ) from error

    def text(self, method, path, query=None, body=None, form="application/json"):
        """The server's answer as text."""
        try:
            answer = self.requests.request(
                method,
                path,
                body=body,
                query_params=sorted((query or {}).items()),
                content_type=form,
                serialize=False,
                _request_timeout=TIMEOUT if self.has_answered else FIRST,
            )
            self.has_answered = True
            return answer.data.decode("utf-8", "replace")
        except ApiException as error:
            self.has_answered = True
            raise self._refusal(error) from error
        except (HTTPError, OSError) as error:
            raise Unreachable(self._unreachable(error)) from error

    def _refusal(self, error):
        text = error.body.decode("utf-8", "replace") if isinstance(error.body, bytes) else str(error.body or "")
        try:
            message = json.loads(text).get("message") or text
        except (ValueError, AttributeError):
            message = text or str(error.reason)
        if error.status == 401:
            message = (
                f"{self.url} does not accept the credentials of {self.place} ({message}). "
                "Renew its token or certificate, or choose another context."
            )
        wait = str((error.headers or {}).get("Retry-After", ""))
        return Refused(error.status, str(error.reason), message, int(wait) if wait.isdecimal() else 0)

    def _unreachable(self, error):
        cause = getattr(error, "reason", None) or error
        if "CERTIFICATE_VERIFY_FAILED" in str(cause) or "SSL" in type(cause).__name__:
            return (
                f"The certificate of {self.url} is not accepted ({cause}). "
                f"The certificate authority in {self.place} has to be the server's."
            )
        return f"{self.url} of {self.place} does not answer ({cause}). Check the address, and that this machine reaches it."
