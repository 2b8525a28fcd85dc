-- Copyright (c) 2026 the ascend.inference contributors
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
-- SPDX-License-Identifier: GPL-3.0-or-later
-- Written by ascend.inference: changes here are lost.
--
-- Counts requests and tokens by team, model and day (UTC), from the member "usage" of answers, and refuses teams that have used up their tokens.
-- No text of a request or an answer is kept.
--
-- Each process has a file for each day, to which it adds a line for each answer, and an index of a day names the processes that have one. So a
-- process that a reload starts counts on, one that ends its last streams is counted, too, and no end of a process loses a count. A reader adds
-- up all lines of all files of a day. A file that has grown is replaced by its sums.
-- Engines put the usage of a stream into its last event if the request asks for it. For clients that did not ask, model.lua found where the
-- question belongs; it is put there, and the event is taken out again. An event that is not there whole waits for its rest: nobody could read it.
-- One thread runs all Lua, and HAProxy interrupts no filter, so a count is never changed by two. It does interrupt tasks and actions: so one task reads
-- the files of other processes, and what others use of it is set at once. What a router sends is searched once, because no work on it is interrupted, and
-- HAProxy ends itself when a thread does not come back for two seconds.

local LIMITS, FOLDER = "@FOLDER@/tokens.map", "@STATE@"
local PIECE = 4096 -- bytes in which a usage ends
local GROWN = 65536 -- bytes
local LONGEST = 1048576 -- bytes of an event that waits for its rest
local MOST = 20000 -- events, and words, of one reading
local FIELDS = 5 -- requests, requests without a usage, prompt tokens, completion tokens, cached tokens of prompts

if not core.register_filter then
    error("this version of HAProxy is older than 2.5 and cannot count tokens. Fix: install a newer one, or set usage: false in inference_entry")
end

local limits = {} -- {day, month} of each team that has one
local own = {} -- day -> "team\tmodel" -> counts of this process
local others, before = {}, {} -- "team\tmodel" -> counts of other processes today; team -> tokens of this month until yesterday
local known = {} -- path of another process's file -> {its size, its sums}
local open, grown, listed = {}, 0, {} -- day -> file of this process; bytes in it; days whose index has this process
local read_for, identity = nil, nil

local function day_of(seconds) return os.date("!%Y-%m-%d", seconds) end

local function lines(path)
    local file = io.open(path)
    if not file then return function() end end
    local text = file:read("a")
    file:close()
    return text:gmatch("[^\n]+")
end

for line in lines(LIMITS) do
    local team, day, month = line:match("^(%S+) (%d+) (%d+)$")
    limits[team] = { tonumber(day), tonumber(month) }
end

-- The name of this process: the number alone comes again after a while.
local function name()
    if not identity then
        local number = "0"
        for line in lines("/proc/self/stat") do number = line:match("^%d+") or number end
        identity = core.now().sec .. "-" .. number
    end
    return identity
end

local function path(day, of) return FOLDER .. "/" .. day .. "." .. of end

local function add(sums, pair, counts)
    local sum = sums[pair] or { 0, 0, 0, 0, 0 }
    for number = 1, FIELDS do sum[number] = sum[number] + (counts[number] or 0) end
    sums[pair] = sum
end

-- The sums of a file. It is not read again if its size is the same.
local function sums_of(place)
    local file = io.open(place)
    if not file then return {} end
    local size = file:seek("end")
    file:close()
    if not known[place] or known[place][1] ~= size then
        local sums = {}
        for line in lines(place) do
            local pair, rest = line:match("^([^\t]+\t[^\t]+)\t(.*)$")
            local counts = {}
            for digits in (rest or ""):gmatch("%d+") do counts[#counts + 1] = tonumber(digits) end
            if #counts == FIELDS then add(sums, pair, counts) end
        end
        known[place] = { size, sums }
    end
    return known[place][2]
end

-- The sums of all processes of a day by team and model; of all but this one if `foreign`.
local function sums_of_day(day, foreign)
    local sums = {}
    for process in lines(path(day, "index")) do
        if not (foreign and process == name()) then
            for pair, counts in pairs(sums_of(path(day, process))) do add(sums, pair, counts) end
        end
    end
    return sums
end

local function tokens_of(sums, team)
    local found = 0
    for pair, counts in pairs(sums or {}) do
        if pair:match("^[^\t]+") == team then found = found + counts[3] + counts[4] end
    end
    return found
end

-- Reads what other processes counted: of today each time, of the days before once a day.
local function read()
    local day = day_of(core.now().sec)
    if read_for ~= day then
        local sums = {}
        for number = 1, tonumber(day:sub(9)) - 1 do
            for pair, counts in pairs(sums_of_day(day:sub(1, 8) .. string.format("%02d", number))) do
                local team = pair:match("^[^\t]+")
                sums[team] = (sums[team] or 0) + counts[3] + counts[4]
            end
        end
        known = {}
        before, others, read_for = sums, sums_of_day(day, true), day
    else
        others = sums_of_day(day, true)
    end
end

core.register_task(function()
    while true do
        read()
        core.msleep(1000)
    end
end)

-- Today, and the time in seconds. At a start and when a day begins it waits for what is read, but not for ever.
local function now()
    for dummy = 1, 500 do
        if read_for == day_of(core.now().sec) then break end
        core.msleep(10)
    end
    local seconds = core.now().sec
    return day_of(seconds), seconds
end

local function row(pair, counts) return pair .. "\t" .. table.concat(counts, "\t") .. "\n" end

-- Replaces the file of a day by the sums of this process. Nothing is open if that fails, and the next answer tries again.
local function write(day)
    local rows = {}
    for pair, counts in pairs(own[day]) do rows[#rows + 1] = row(pair, counts) end
    local text, place = table.concat(rows), path(day, name())
    for other, file in pairs(open) do
        file:close()
        open[other] = nil
    end
    if not listed[day] then
        local index = io.open(path(day, "index"), "a")
        if not (index and index:write(name() .. "\n") and index:close()) then return end
        listed = { [day] = true }
    end
    local file = io.open(place .. ".new", "w")
    if file and file:setvbuf("no") and file:write(text) and os.rename(place .. ".new", place) then open[day], grown = file, 0 end
end

local function count(team, model, usage)
    local day, pair = day_of(core.now().sec), team .. "\t" .. model
    own[day] = own[day] or {}
    local prompt, completion = usage.prompt or 0, usage.completion or 0
    if not (usage.found and usage.whole) then completion = math.max(completion, usage.events) end
    local more = { 1, usage.found and 0 or 1, prompt, completion, math.min(usage.cached or 0, prompt) }
    add(own[day], pair, more)
    local line = row(pair, more)
    grown = grown + #line
    if not open[day] or grown > GROWN then
        write(day)
    elseif not open[day]:write(line) then
        open[day] = nil
    end
end

-- Takes the numbers of a usage over: those of the OpenAI API's completions, and those of its responses.
local function take(usage, text)
    local function number(...)
        for dummy, field in ipairs({ ... }) do
            local digits = text:match('"' .. field .. '"%s*:%s*(%d+)')
            if digits then return math.tointeger(tonumber(digits:sub(1, 12))) end
        end
    end
    usage.found = true
    usage.prompt = number("prompt_tokens", "input_tokens") or usage.prompt
    usage.completion = number("completion_tokens", "output_tokens") or usage.completion or 0
    usage.cached = number("cached_tokens") or usage.cached
end

-- The last usage in a text, or nil; and where one begins that is not there whole. None contains the word itself, so no part is searched twice.
local function usage_in(text)
    local found, number = nil, 0
    local at = text:find('"usage"', 1, true)
    while at do
        number = number + 1
        local after = text:find('"usage"', number == MOST and math.max(at + 7, #text - PIECE) or at + 7, true)
        local piece = text:sub(at, math.min(at + PIECE, after or math.huge) - 1)
        local object = piece:match('^"usage"%s*:%s*(%b{})')
        if object then
            found = object
        elseif not after and #piece < PIECE and (piece:match('^"usage"%s*:%s*{') or piece:match('^"usage"%s*:?%s*$')) then
            return found, at
        end
        at = after
    end
    return found, nil
end

local Usage = { id = "usage of answers", flags = filter.FLT_CFG_FL_HTX }
Usage.__index = Usage

function Usage:new() return setmetatable({ usage = { events = 0 }, tail = "", searched = 0 }, Usage) end

function Usage:http_headers(txn, message)
    local is_answer = message.channel:is_resp()
    if is_answer then
        local success = txn:get_var("txn.success") -- only of an answer of a router
        local team = txn:get_var("txn.team") -- none behind the door of another model
        if not (success and team) then return end
        self.team, self.model = team, txn:get_var("txn.model")
        self.added = txn:get_var("txn.text") ~= nil and not message:get_headers()["content-length"] -- which promises each byte
    else
        self.at, self.cut, self.text = txn:get_var("txn.at"), txn:get_var("txn.cut"), txn:get_var("txn.text")
        if not self.text then return end
    end
    filter.register_data_filter(self, message.channel)
end

function Usage:http_payload(txn, message)
    if not message.channel:is_resp() then return self:ask(message) end
    local data = message:body()
    if not data or data == "" then return end
    if self.is_stream == nil then -- what the answer is called is decided by a proxy, with another idea of "stream" than the engine has
        local first = data:sub(1, PIECE):match("%S")
        if not first then return end
        self.is_stream = first ~= "{" and first ~= "["
    end
    if self.is_stream then return self:events(message, data) end
    self:plain(data)
end

function Usage:plain(data)
    local text = self.tail .. data
    local object, rest = usage_in(text)
    if object then take(self.usage, object) end
    self.tail = text:sub(rest or -6)
end

-- Puts the question for a usage into the body, which is there whole.
function Usage:ask(message)
    if self.asked then return end
    self.asked = true
    if self.cut > 0 then message:remove(self.at, self.cut) end
    message:insert(self.text, self.at)
end

-- Counts whole events, and takes those with a usage out for which the client did not ask. Returns how many bytes may go on. A stream that is none of an
-- engine, with a longer event or more of them than there can be, is read as a text from there on.
function Usage:events(message, data)
    local from, gone, number = 1, 0, 0
    local start, other = self.searched + 1, 0
    while number < MOST do
        local last = data:find("\n\n", start, true)
        if other and other < start then other = data:find("\r\n\r\n", start, true) end
        if other and (not last or other < last) then last = other + 2 end
        if not last then break end
        local event = data:sub(from, last + 1)
        local object = event:find('"usage"', 1, true) and usage_in(event)
        if object then take(self.usage, object) else self.usage.events = self.usage.events + 1 end
        if object and self.added and event:find('"choices"%s*:%s*%[%s*%]') then
            message:remove(from - 1 - gone, #event)
            gone = gone + #event
        end
        from, start, number = last + 2, last + 2, number + 1
    end
    local rest = #data - from + 1
    if number == MOST or rest > LONGEST then
        self.is_stream = false
        self:plain(data:sub(from))
    elseif rest > 0 and not message:eom() then
        self.searched = math.max(0, rest - 3)
        return from - 1 - gone
    else
        self.searched = 0
    end
end

function Usage:finish()
    if self.team and not self.done then
        self.done = true
        count(self.team, self.model, self.usage)
    end
end

function Usage:http_end(txn, message)
    if not message.channel:is_resp() then return end
    self.usage.whole = true
    self:finish()
end

function Usage:end_analyze(txn, channel)
    if channel:is_resp() then self:finish() end
end

core.register_filter("usage", Usage, function(made) return made end)

-- Sets txn.wait to the seconds until a team has tokens again, if it has used all.
core.register_action("tokens", { "http-req" }, function(txn)
    local team = txn:get_var("txn.team")
    local limit = limits[team]
    if not limit then return end
    local day, seconds = now()
    local today = tokens_of(own[day], team) + tokens_of(others, team)
    if limit[2] > 0 and today + (before[team] or 0) >= limit[2] then
        local date = os.date("!*t", seconds)
        local days = os.date("!*t", os.time({ year = date.year, month = date.month + 1, day = 0, hour = 12 })).day
        txn:set_var("txn.wait", (days - date.day + 1) * 86400 - seconds % 86400)
    elseif limit[1] > 0 and today >= limit[1] then
        txn:set_var("txn.wait", 86400 - seconds % 86400)
    end
end)

local NAMES = { "requests", "requests_without_usage", "prompt_tokens", "completion_tokens", "cached_tokens" }

-- Adds what metrics.lua tells.
function usage_rows(rows)
    local day = now()
    local sums = {}
    for dummy, source in ipairs({ others, own[day] or {} }) do
        for pair, counts in pairs(source) do add(sums, pair, counts) end
    end
    for number, each in ipairs(NAMES) do
        rows[#rows + 1] = "# TYPE ascend_inference_entry_" .. each .. "_today gauge"
        for pair, counts in pairs(sums) do
            local labels = pair:gsub("^([^\t]+)\t(.*)$", '{team="%1",model="%2"}')
            rows[#rows + 1] = "ascend_inference_entry_" .. each .. "_today" .. labels .. " " .. counts[number]
        end
    end
    rows[#rows + 1] = "# TYPE ascend_inference_entry_tokens_used_ratio gauge"
    for team, limit in pairs(limits) do
        local today = tokens_of(own[day], team) + tokens_of(others, team)
        local used = { day = limit[1] > 0 and today / limit[1], month = limit[2] > 0 and (today + (before[team] or 0)) / limit[2] }
        for period, ratio in pairs(used) do
            if ratio then
                rows[#rows + 1] = string.format('ascend_inference_entry_tokens_used_ratio{team="%s",period="%s"} %.6f', team, period, ratio)
            end
        end
    end
end
