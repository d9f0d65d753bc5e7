-- Sets the length limit of a game at all nodes, and shrinks its queue by one step.
-- Runs after shift.lua.
-- KEYS  as in game.lua
-- ARGV  3 the limit; 0 restores the configured one
-- Returns how many items are still above the limit.
local max_len = tonumber(ARGV[3])
if max_len == 0 then
  redis.call('HDEL', KEYS[2], 'max_len')
  return 0
end
set_field('max_len', ARGV[3])
if length > max_len then
  drop_oldest(math.min(1000, length - max_len), 'd:queue_full')
end
save_fields()
return math.max(0, length - max_len)
