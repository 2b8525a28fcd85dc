-- Copyright (c) 2026 the ascend.inference contributors
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
-- SPDX-License-Identifier: GPL-3.0-or-later
-- Written by ascend.inference: changes here are lost.
--
-- Finds the model of a request: the member "model" of the JSON object that is its body. Engines parse the body themselves; this has to find
-- the same model as they do, or none. So a body with two of them, or with text around the object, is refused, as is one that is no UTF-8.
-- What is inside of other members is skipped by brackets and strings. A body that says where an engine gets KV cache from is refused, too: proxies
-- pass it on to decode where prefill has nothing to hand over, and it names an address that the engine asks, or blocks of another client's request. For a stream of completions it also finds where the question for the
-- stream's usage belongs, which usage.lua puts there.
--
-- HAProxy interrupts Lua between two of its instructions, never inside of one, and ends itself when a thread does not come back for two seconds.
-- So no pattern is applied to a text of the client's length; searches for one plain character are fast enough (memchr).

local MOST = 255 -- characters of a name
local KEY = 6 * #"kv_transfer_params" -- characters of the longest key in its longest form
local WINDOW = 4096 -- characters of a number, and of blanks in one place
local MEMBERS = 1024 -- of an object that is searched
local OPTIONS = 4096 -- characters of stream_options
local LARGE = 1048576 -- bytes of a body that is not left to the collector
local YES = { ["true"] = true, ["1"] = true, t = true, yes = true, y = true, on = true } -- texts that engines (pydantic) take for true

-- The end of the string whose first quote is at `from`, or nil.
local function string_end(body, from)
    local at = body:find('"', from + 1, true)
    if not at or body:byte(at - 1) ~= 92 then return at end -- a backslash
    at = from + 1
    repeat
        local piece = body:sub(at, at + WINDOW - 1):gsub("\\.", "__")
        local found = piece:find('"', 1, true)
        if found then return at + found - 1 end
        at = at + #piece - (piece:byte(-1) == 92 and 1 or 0)
    until #piece < WINDOW
    return nil
end

-- A string as a parser reads it. What no name has, such as NUL, which would end the name for HAProxy, becomes "?".
local function decoded(text)
    local plain = text:gsub("\\(.)(%x?%x?%x?%x?)", function(kind, digits)
        if kind == "u" and #digits == 4 then
            local code = tonumber(digits, 16)
            return code < 128 and string.char(code) or "?"
        end
        return (kind == "/" and "/" or "?") .. digits
    end)
    return (plain:gsub("[^%w._:/@+-]", "?"))
end

-- What up to six brackets add to the depth, and the least depth among them. There are 5,460 such texts, so each is read once.
local steps = {}
local function step_of(signs)
    local found = steps[signs]
    if not found then
        local depth, least = 0, 0
        for sign in signs:gmatch(".") do
            depth = depth + ((sign == "{" or sign == "[") and 1 or -1)
            least = math.min(least, depth)
        end
        found = { depth, least }
        steps[signs] = found
    end
    return found
end

-- The depth behind brackets, or nil if it comes to 0 among them.
local function depth_behind(signs, depth)
    for number = 1, #signs, 6 do
        local step = step_of(signs:sub(number, number + 5))
        if depth + step[2] < 1 then return nil end
        depth = depth + step[1]
    end
    return depth
end

-- The bracket with which the depth comes to 0 between `from` and `last`, or nil.
local function closing(body, from, last, depth)
    local at = from
    while at <= last do
        local place = body:sub(at, last):find('[]["{}]')
        if not place then return nil end
        at = at + place - 1
        local sign = body:sub(at, at)
        if sign == '"' then
            at = string_end(body, at) or last
        else
            depth = depth + ((sign == "{" or sign == "[") and 1 or -1)
            if depth == 0 then return at end
        end
        at = at + 1
    end
end

-- The end of the value that begins at `from`, or nil. What is in brackets is read in windows without their strings: a step for each sign would cost
-- one client of many signs the time of all others.
local function value_end(body, from)
    local first = body:sub(from, from)
    if first == '"' then return string_end(body, from) end
    if first ~= "{" and first ~= "[" then
        local dummy, length = body:sub(from, from + WINDOW):find("^[%w+.-]+")
        return length and from + length - 1
    end
    local depth, at = 1, from + 1
    while at and at <= #body do
        local window = body:sub(at, at + WINDOW - 1)
        local rest = window
        if rest:find("\\", 1, true) then rest = rest:gsub("\\.", "__") end
        if rest:find('"', 1, true) then rest = rest:gsub('"[^"]*"', "") end
        local quote, last = rest:find('"', 1, true), #window -- of a string that goes on behind the window
        if quote then last, rest = last - #rest + quote - 1, rest:sub(1, quote - 1) end
        local behind = depth_behind(rest:gsub("[^]{}[]+", ""), depth)
        if not behind then return closing(body, at, at + last - 1, depth) end
        depth, at = behind, at + last
        if quote then
            at = string_end(body, at)
            at = at and at + 1
        end
    end
end

local function after_blanks(body, from)
    local code = body:byte(from)
    if code and code > 32 then return from end
    return from + (body:sub(from, from + WINDOW):find("[^ \t\r\n]") or WINDOW + 1) - 1
end

-- Gives the members of the object whose bracket is at `at` to `visit(key, from, to)`, which returns what is wrong. Returns the end of the object,
-- or nil and what is wrong.
local function members(body, at, visit)
    at = after_blanks(body, at + 1)
    for dummy = 1, MEMBERS do
        if body:sub(at, at) ~= '"' then return nil end
        local key_end = string_end(body, at)
        if not key_end then return nil end
        local key = key_end - at - 1 <= KEY and decoded(body:sub(at + 1, key_end - 1))
        at = after_blanks(body, key_end + 1)
        if body:sub(at, at) ~= ":" then return nil end
        at = after_blanks(body, at + 1)
        local last = value_end(body, at)
        if not last then return nil end
        local fault = visit(key, at, last)
        if fault then return nil, fault end
        at = after_blanks(body, last + 1)
        local sign = body:sub(at, at)
        if sign == "}" then return at end
        if sign ~= "," then return nil end
        at = after_blanks(body, at + 1)
    end
    return nil, "the body has more than " .. MEMBERS .. " members in one object"
end

-- Whether engines take a value for true, also one with escapes, and each number that is 1.
local function yes(body, from, to)
    if to - from > WINDOW then return false end
    local text = body:sub(from, to)
    local inner = text:match('^"(.*)"$')
    if inner then return YES[decoded(inner):lower()] or false end
    return text == "true" or tonumber(text) == 1
end

local LOOKED_FOR = { model = true, stream = true, stream_options = true, vllm_xargs = true }
local TRANSFER = { kv_transfer_params = true, ec_transfer_params = true } -- vLLM takes them from vllm_xargs as well

-- What is wrong with a member that only a router may set, or nil.
local function transfer_of(body, key, from, to)
    if TRANSFER[key] and body:sub(from, math.min(to, from + 4)) ~= "null" then return key .. " is not for clients" end
end

-- As transfer_of, of the members of an object.
local function transfer_in(body, at)
    if body:sub(at, at) ~= "{" then return nil end
    local first = after_blanks(body, at + 1)
    if body:sub(first, first) == "}" then return nil end
    local last, fault = members(body, at, function(key, from, to) return transfer_of(body, key, from, to) end)
    if not last then return fault or "vllm_xargs cannot be read" end
end

-- The model, or nil and what is wrong. Then where the body begins, and first and last character of stream, stream_options and model.
-- `nameless`: whether a body may name none.
local function model_of(body, nameless)
    local found, model = {}, nil
    local begin = after_blanks(body, 1)
    if body:sub(begin, begin) ~= "{" then return nil, "the body is not a JSON object" end
    local at, fault = members(body, begin, function(key, from, to)
        local refused = transfer_of(body, key, from, to) or key == "vllm_xargs" and transfer_in(body, from)
        if refused then return refused end
        if not LOOKED_FOR[key] then return end
        if found[key] then return "the body names its " .. key .. " twice" end
        found[key] = { from, to }
        if key == "model" then
            if body:sub(from, from) ~= '"' then return "the model is not a text" end
            if to - from > 6 * MOST then return "the name of the model is too long" end
            model = decoded(body:sub(from + 1, to - 1))
        end
    end)
    if fault then return nil, fault end
    if not at or after_blanks(body, at + 1) <= #body then return nil, "the body is not a JSON object" .. (nameless and "" or " that names its model") end
    if not model and not nameless then return nil, "the body names no model" end
    return model, nil, begin, found.stream, found.stream_options, found.model
end

-- The text that asks for the usage of a stream, how many characters stand before it and how many it replaces; nil if there is nothing to ask.
local function question(body, begin, stream, options)
    if not stream or not yes(body, stream[1], stream[2]) then return nil end
    if not options then return '"stream_options":{"include_usage":true},', begin, 0 end
    local text, asked = body:sub(options[1], math.min(options[2], options[1] + OPTIONS)), false
    if text:sub(1, 1) == "{" and options[2] <= options[1] + OPTIONS then -- whole: of two members with one name, the last one holds
        members(text, 1, function(key, from, to) if key == "include_usage" then asked = yes(text, from, to) end end)
    end
    if asked then return nil end
    return '{"include_usage":true}', options[1] - 1, options[2] - options[1] + 1
end

-- The bytes of requests that are in memory, from their headers on until the deployment's answer begins. What is left of a client that has gone is found
-- by the collector, which runs when there is no place.
local held = 0
local Place = {}
Place.__index = Place

function Place.take(size, most)
    if held + size > most then collectgarbage() end
    if held + size > most then return nil end
    held = held + size
    return setmetatable({ size = size }, Place)
end

function Place:leave()
    held = held - self.size
    self.size = 0
end

Place.__gc = Place.leave

-- Whether a file of keys, as a change left it, has this digest for this team.
local function listed(path, digest, team)
    local file = io.open(path)
    local text = "\n" .. (file and file:read("a") or "")
    if file then file:close() end
    return text:find("\n" .. digest .. " " .. team .. "\n", 1, true) ~= nil
end

if core then
    -- In a process that a reload replaces: idle connections stay for one request, and a key may have been removed.
    core.register_action("removed", { "http-req" }, function(txn, keys)
        if not listed(keys, txn:get_var("txn.digest"), txn:get_var("txn.team")) then txn:unset_var("txn.team") end
    end, 1)

    -- `body`, `most`: bytes of the largest request, and of all.
    core.register_action("arrive", { "http-req" }, function(txn, body, most)
        local size = tonumber(txn.f:req_fhdr("content-length")) or tonumber(body)
        local place = Place.take(size, tonumber(most))
        if place then
            txn:set_priv(place)
            txn:set_var("txn.held", true)
        else
            txn:set_var("txn.full", true)
        end
    end, 2)

    core.register_action("answered", { "http-res" }, function(txn)
        txn:get_priv():leave()
    end)

    -- What usage.lua puts into the body, if there is a text, and the length that the body then has.
    local function write(txn, body, text, at, cut)
        if text then
            txn:set_var("txn.text", text)
            txn:set_var("txn.at", at)
            txn:set_var("txn.cut", cut)
        end
        txn:set_var("txn.length", #body + (text and #text - cut or 0))
    end

    -- The name of another model in place of the one that is there.
    core.register_action("other", { "http-req" }, function(txn, name)
        local body = txn.sf:req_body() or ""
        local model, dummy, dummy2, dummy3, dummy4, place = model_of(body)
        if model then write(txn, body, '"' .. name .. '"', place[1] - 1, place[2] - place[1] + 1) end
        body = nil
        collectgarbage("step")
    end, 1)

    core.register_action("model", { "http-req" }, function(txn)
        txn:set_var("txn.fault", "the model was not found in time") -- stays if HAProxy ends this function
        local body = txn.sf:req_body() or ""
        local model, fault, begin, stream, options = model_of(body)
        if model then
            local text, at, cut = question(body, begin, stream, options)
            write(txn, body, txn.sf:path():find("/completions$") and text, at, cut)
        end
        local large = #body > LARGE
        body = nil
        if large then collectgarbage() end -- else copies of several bodies wait for their turn
        if model then
            txn:set_var("txn.model", model)
            txn:unset_var("txn.fault")
        else
            txn:set_var("txn.fault", fault)
        end
    end)

    -- Sets txn.fault alone, where any model may be named.
    core.register_action("body", { "http-req" }, function(txn)
        txn:set_var("txn.fault", "the body was not read in time") -- stays if HAProxy ends this function
        local body = txn.sf:req_body() or ""
        local dummy, fault = model_of(body, true)
        local large = #body > LARGE
        body = nil
        if large then collectgarbage() end
        if fault then
            txn:set_var("txn.fault", fault)
        else
            txn:unset_var("txn.fault")
        end
    end)
end
