-- Copyright (c) 2026 the ascend.inference contributors
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
-- SPDX-License-Identifier: GPL-3.0-or-later
-- Written by ascend.inference: changes here are lost.
--
-- Finds the model of a request: the member "model" of the JSON object that is its body. Engines parse the body themselves; this has to find
-- the same model as they do, or none. So a body with two of them, or with text around the object, is refused, as is one that is no UTF-8.
-- What is inside of other members is skipped by brackets and strings. Long strings are found by plain searches, not by patterns.

local MOST = 255 -- characters of a name

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

-- The end of the value that begins at `from`, or nil.
local function value_end(body, from)
    local first = body:sub(from, from)
    if first == '"' then return string_end(body, from) end
    if first ~= "{" and first ~= "[" then
        local dummy, last = body:find("^[%w+.-]+", from)
        return last
    end
    local depth, at = 1, from
    while depth > 0 do
        at = body:find('["%[%]{}]', at + 1)
        if not at then return nil end
        local found = body:byte(at)
        if found == 34 then
            at = string_end(body, at)
            if not at then return nil end
        elseif found == 123 or found == 91 then
            depth = depth + 1
        else
            depth = depth - 1
        end
    end
    return at
end

local function after_blanks(body, from)
    return body:find("[^ \t\r\n]", from) or #body + 1
end

-- The model, or nil and what is wrong.
local function model_of(body)
    local model
    local at = after_blanks(body, 1)
    if body:sub(at, at) ~= "{" then return nil, "the body is not a JSON object" end
    at = after_blanks(body, at + 1)
    while true do
        if body:sub(at, at) ~= '"' then break end
        local key_end = string_end(body, at)
        if not key_end then break end
        local key = decoded(body:sub(at + 1, key_end - 1))
        at = after_blanks(body, key_end + 1)
        if body:sub(at, at) ~= ":" then break end
        at = after_blanks(body, at + 1)
        local last = value_end(body, at)
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
        local model, fault = model_of(txn.sf:req_body() or "")
        if model then
            txn:set_var("txn.model", model)
        else
            txn:set_var("txn.fault", fault)
        end
    end)
end
