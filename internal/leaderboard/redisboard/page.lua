-- Reads the entries with the indexes start to stop, at one moment. It runs after ready.lua and one of top.lua, edge.lua, around.lua.
-- KEYS  those of ready.lua.
-- ARGV  not used.
-- Returns the state that ready.lua read, then start and better (number of entries with a better key than the first).
--         Then a list of members and keys, alternately, and a list of the packed entries.
local found, ids, entries = {}, {}, {}
local better = 0
if stop >= start then
  found = redis.call('ZRANGE', ranking, start, stop, 'WITHSCORES')
end
for i = 1, #found, 2 do
  ids[#ids + 1] = string.sub(found[i], 18)
end
if #ids > 0 then
  better = redis.call('ZCOUNT', ranking, '-inf', '(' .. found[2])
  entries = redis.call('HMGET', KEYS[3], unpack(ids))
end
return { board_state, start, better, found, entries }
