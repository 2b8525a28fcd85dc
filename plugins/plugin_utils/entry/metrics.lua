-- Copyright (c) 2026 the ascend.inference contributors
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
-- SPDX-License-Identifier: GPL-3.0-or-later
-- Written by ascend.inference: changes here are lost.
--
-- The metrics of this process for Prometheus: routers that answer, refused requests, what was written with its settings, and usage if it is counted.

local FOLDER = "@FOLDER@"
local refused = {} -- labels -> requests

local function read(name)
    local file = io.open(FOLDER .. "/" .. name)
    local text = file and file:read("a") or ""
    if file then file:close() end
    return text
end

local written, models = read("metrics.txt"), read("models.map")

-- Counts a request that is refused next. Strangers have no team.
core.register_action("refused", { "http-req" }, function(txn, reason)
    local team = txn:get_var("txn.team")
    local labels = (team and 'team="' .. team .. '",' or "") .. 'reason="' .. reason .. '"'
    refused[labels] = (refused[labels] or 0) + 1
end, 1)

core.register_service("metrics", "http", function(applet)
    local rows = { "# TYPE ascend_inference_entry_routers gauge" }
    local function add(name, labels, value)
        rows[#rows + 1] = "ascend_inference_entry_" .. name .. "{" .. labels .. "} " .. value
    end
    for model, backend in models:gmatch("(%S+) (%S+)\n") do
        local found = core.backends[backend]:get_stats() -- servers that may be used now
        add("routers", 'model="' .. model .. '",way="first"', found.act)
        add("routers", 'model="' .. model .. '",way="fallback"', found.bck)
    end
    rows[#rows + 1] = "# TYPE ascend_inference_entry_refused_total counter"
    for labels, number in pairs(refused) do add("refused_total", labels, number) end
    if usage_rows then usage_rows(rows) end
    local text = written .. table.concat(rows, "\n") .. "\n"
    applet:set_status(200)
    applet:add_header("content-type", "text/plain; version=0.0.4")
    applet:add_header("content-length", tostring(#text))
    applet:start_response()
    applet:send(text)
end)
