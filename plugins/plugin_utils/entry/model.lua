-- Copyright (c) 2026 the ascend.inference contributors
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
-- SPDX-License-Identifier: GPL-3.0-or-later
-- Written by ascend.inference: changes here are lost.
--
-- Finds the model of a request: the member "model" of the JSON object that is its body. Engines parse the body themselves; this has to find
-- the same model as they do, or none. So a body with two of them, or with text around the object, is refused, as is one that is no UTF-8.
-- What is inside of other members is skipped by brackets and strings.
--
-- HAProxy interrupts Lua between two of its instructions, never inside of one, and ends itself when a thread does not come back for two seconds.
-- So no pattern is applied to a text of the client's length; searches for one plain character are fast enough (memchr).

local MOST = 255 -- characters of a name
local KEY = 6 * #"model" -- characters of the key in its longest form
local WINDOW = 4096 -- characters of a number, and of blanks in one place
local LARGE = 1048576 -- bytes of a body that is not left to the collector
local SIGNS = { '"', "{", "[", "}", "]" }

-- The end of the string whose first quote is at `from`, or nil.
local function string_end(body, from)
    local at = from
    while true do
        at = body:find('"', at + 1, true)
        if not at then return nil end
        local before = at - 1
        while body:byte(before) == 92 do before = before - 1 end -- backslashes
        if (at - 1 - before) % 2 == 0 then return at end
    end
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

-- The end of the value that begins at `from`, or nil. `places`: where each sign was found last, so that no part of a body is searched twice.
local function value_end(body, from, places)
    local first = body:sub(from, from)
    if first == '"' then return string_end(body, from) end
    if first ~= "{" and first ~= "[" then
        local dummy, length = body:sub(from, from + WINDOW):find("^[%w+.-]+")
        return length and from + length - 1
    end
    local depth, at = 0, from
    repeat
        local sign, nearest = 0, math.huge
        for number = 1, 5 do
            local place = places[number]
            if place < at then
                place = body:find(SIGNS[number], at, true) or math.huge
                places[number] = place
            end
            if place < nearest then sign, nearest = number, place end
        end
        if sign == 0 then return nil end
        at = nearest
        if sign == 1 then
            at = string_end(body, at)
            if not at then return nil end
        else
            depth = depth + (sign < 4 and 1 or -1)
        end
        at = at + 1
    until depth == 0
    return at - 1
end

local function after_blanks(body, from)
    local code = body:byte(from)
    if code and code > 32 then return from end
    return from + (body:sub(from, from + WINDOW):find("[^ \t\r\n]") or WINDOW + 1) - 1
end

-- The model, or nil and what is wrong.
local function model_of(body)
    local model
    local places = { 0, 0, 0, 0, 0 }
    local at = after_blanks(body, 1)
    if body:sub(at, at) ~= "{" then return nil, "the body is not a JSON object" end
    at = after_blanks(body, at + 1)
    while true do
        if body:sub(at, at) ~= '"' then break end
        local key_end = string_end(body, at)
        if not key_end then break end
        local key = key_end - at - 1 <= KEY and decoded(body:sub(at + 1, key_end - 1))
        at = after_blanks(body, key_end + 1)
        if body:sub(at, at) ~= ":" then break end
        at = after_blanks(body, at + 1)
        local last = value_end(body, at, places)
        if not last then break end
        if key == "model" then
            if model then return nil, "the body names its model twice" end
            if body:sub(at, at) ~= '"' then return nil, "the model is not a text" end
            if last - at > 6 * MOST then return nil, "the name of the model is too long" end
            model = decoded(body:sub(at + 1, last - 1))
        end
        at = after_blanks(body, last + 1)
        local sign = body:sub(at, at)
        if sign == "}" then
            if after_blanks(body, at + 1) <= #body then break end
            if not model then return nil, "the body names no model" end
            return model
        end
        if sign ~= "," then break end
        at = after_blanks(body, at + 1)
    end
    return nil, "the body is not a JSON object that names its model"
end

if core then
    core.register_action("model", { "http-req" }, function(txn)
        txn:set_var("txn.fault", "the model was not found in time") -- stays if HAProxy ends this function
        local body = txn.sf:req_body() or ""
        local model, fault = model_of(body)
        if #body > LARGE then
            body = nil
            collectgarbage() -- else copies of several bodies wait for their turn
        end
        if model then
            txn:set_var("txn.model", model)
            txn:unset_var("txn.fault")
        else
            txn:set_var("txn.fault", fault)
        end
    end)
end
