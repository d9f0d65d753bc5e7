-- Sets a game's bound at all nodes, and shrinks its queue by a step. After
-- shift.lua.
-- KEYS  as of game.lua
-- ARGV  3 bound; 0: as configured
-- Returns how many are beyond the bound yet.
local bound = tonumber(ARGV[3])
if bound == 0 then
  redis.call('HDEL', KEYS[2], 'max_len')
  return 0
end
write('max_len', ARGV[3])
if length > bound then
  drop_oldest(math.min(1000, length - bound), 'd:queue_full')
end
save()
return math.max(0, length - bound)
