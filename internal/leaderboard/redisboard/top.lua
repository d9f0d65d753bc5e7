-- Selects the first entries, for page.lua.
-- KEYS  those of ready.lua, which runs before.
-- ARGV  1 limit, 0 to 200.
-- Returns nothing. It sets start and stop, indexes from 0. If stop is below start, no entry is selected.
local start = 0
local stop = tonumber(ARGV[1]) - 1
