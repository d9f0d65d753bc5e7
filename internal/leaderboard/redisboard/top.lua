-- Cuts from the top, for page.lua.
-- KEYS  as ready.lua, which it follows
-- ARGV  1 limit, 0 to 200
-- Returns nothing. It leaves start and stop, indexes from 0, stop below start for nothing.
local start = 0
local stop = tonumber(ARGV[1]) - 1
