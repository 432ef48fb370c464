-- A job of a fleet in Lua. Its line on stdin is "SEED SIZE": SIZE tasks, whose kinds and data come from SEED.
local seed, size = io.read("n", "n")

local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % limit
end

local function fold(sum, value) return (sum * 31 + value) % 4294967291 end

local function word()
  local letters = {}
  for i = 1, 2 + random(6) do letters[i] = string.char(97 + random(9) * random(3)) end
  return table.concat(letters)
end

local tasks = {}

-- A table of orders: filtered, sorted with a comparison, summed up for each customer, printed.
function tasks.orders(sum)
  local orders, totals, names = {}, {}, {}
  for i = 1, 20 + random(40) do
    orders[i] = { number = i, customer = word():sub(1, 2), price = random(10000) / 100, count = 1 + random(9) }
  end
  table.sort(orders, function(a, b)
    if a.customer ~= b.customer then return a.customer < b.customer end
    return a.price * a.count == b.price * b.count and a.number < b.number or a.price * a.count > b.price * b.count
  end)
  for _, order in ipairs(orders) do
    if not totals[order.customer] then names[#names + 1] = order.customer end
    totals[order.customer] = (totals[order.customer] or 0) + order.price * order.count
    sum = fold(sum, order.number)
  end
  for _, name in ipairs(names) do sum = fold(sum, #string.format("%-8s%10.2f", name, totals[name])) end
  return sum
end

-- Words of a text: counted, replaced, taken apart with patterns.
function tasks.text(sum)
  local words, count, order = {}, {}, {}
  for i = 1, 30 + random(60) do words[i] = random(6) == 0 and tostring(random(5000)) or word() end
  local text = table.concat(words, " ")
  for found in text:gmatch("%a+") do
    if not count[found] then order[#order + 1] = found end
    count[found] = (count[found] or 0) + 1
  end
  table.sort(order)
  for _, found in ipairs(order) do sum = fold(sum, #found * 100 + count[found]) end
  local changed, places = text:gsub("(%l)(%d+)", "%2%1"):upper():gsub("A%w", { AB = "x", AC = "yy" })
  return fold(fold(sum, #changed), places)
end

-- Events in a heap: each handler may schedule others.
function tasks.events(sum)
  local heap = {}
  local function push(event)
    local at = #heap + 1
    heap[at] = event
    while at > 1 and heap[at // 2].time > heap[at].time do
      heap[at], heap[at // 2] = heap[at // 2], heap[at]
      at = at // 2
    end
  end
  local function pop()
    local first, at = heap[1], 1
    heap[1] = heap[#heap]
    heap[#heap] = nil
    while true do
      local least = at
      for child = 2 * at, 2 * at + 1 do
        if heap[child] and heap[child].time < heap[least].time then least = child end
      end
      if least == at then return first end
      heap[at], heap[least] = heap[least], heap[at]
      at = least
    end
  end
  local left = 40 + random(60)
  local function handler(kind)
    return function(time)
      sum = fold(sum, time + kind)
      for _ = 1, 1 + (time + kind) % 2 do
        if left > 0 then
          left = left - 1
          push({ time = time + 1 + random(50), run = handler((kind + random(3)) % 5) })
        end
      end
    end
  end
  for i = 1, 5 do push({ time = i, run = handler(i) }) end
  while #heap > 0 do
    local event = pop()
    event.run(event.time)
  end
  return sum
end

-- A nested value as text, and back with a recursive parser; sometimes the text is broken.
function tasks.document(sum)
  local function make(depth)
    local kind = random(depth > 0 and 5 or 2)
    if kind == 0 then return random(100000) end
    if kind == 1 then return word() end
    local list = {}
    for i = 1, 1 + random(5) do list[i] = make(depth - 1) end
    return list
  end
  local function write(value)
    if type(value) == "number" then return tostring(value) end
    if type(value) == "string" then return '"' .. value .. '"' end
    local parts = {}
    for i, each in ipairs(value) do parts[i] = write(each) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  local text = write(make(4))
  if random(4) == 0 then text = text:sub(1, -2) end
  local at = 1
  local function read()
    local number, text_end = text:match("^%s*(%d+)()", at)
    if number then at = text_end return tonumber(number) % 1000 end
    local letters, letters_end = text:match('^%s*"(%l*)"()', at)
    if letters then at = letters_end return #letters end
    local total, open_end = 1, text:match("^%s*%[()", at)
    if not open_end then error("a value expected", 0) end
    at = open_end
    repeat
      total = total + read()
      local mark, mark_end = text:match("^%s*([],])()", at)
      if not mark then error("a mark expected", 0) end
      at = mark_end
    until mark == "]"
    return total
  end
  local good, result = pcall(read)
  return fold(fold(sum, #text), good and result or #result)
end

-- All ways to fill a bag, one after the other out of a coroutine.
function tasks.search(sum)
  local weights = {}
  for i = 1, 7 do weights[i] = 5 + random(40) end
  local room, found = 60 + random(60), 0
  local function visit(at, rest, taken)
    if at > #weights then
      if rest < 8 then coroutine.yield(taken) end
      return
    end
    visit(at + 1, rest, taken)
    if weights[at] <= rest then visit(at + 1, rest - weights[at], taken + (1 << at)) end
  end
  for taken in coroutine.wrap(function() visit(1, room, 0) end) do
    found = found + 1
    sum = fold(sum, taken)
  end
  return fold(sum, found)
end

local order = { "orders", "text", "events", "document", "search" }
local sum = 0
for _ = 1, size do sum = tasks[order[random(#order) + 1]](sum) end
print("lua", string.format("%d", sum))
