// A mix in the spirit of Dhrystone, of our own making: records behind pointers, calls, short
// strings, small arrays, enumerations in a switch, and division. An imaginary shop.
#include "bench.h"

enum { kItems = 50, kNameLength = 20 };

typedef enum { kBuy, kSell, kMove, kCount, kRename } Action;

typedef struct Item {
  struct Item* related;
  Action last;
  int stock;
  int price;
  char name[kNameLength];
} Item;

static Item items[kItems];
static int shelf[kItems];
static int total;

__attribute__((noinline)) static int text_compare(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return *a - *b;
}

__attribute__((noinline)) static void text_copy(char* to, const char* from) {
  while ((*to++ = *from++)) {
  }
}

__attribute__((noinline)) static Item* pick(Item* from, int steps) {
  while (steps-- > 0) from = from->related;
  return from;
}

__attribute__((noinline)) static int change(int* value, int by, int modulus) {
  *value = (*value + by) % modulus;
  return *value > modulus / 2;
}

__attribute__((noinline)) static void act(Item* item, Action action, int amount) {
  Item* other = item->related;
  switch (action) {
    case kBuy:
      if (change(&item->stock, amount, 1009)) other->price++;
      break;
    case kSell:
      if (item->stock >= amount) {
        item->stock -= amount;
        total += item->price * amount;
      }
      break;
    case kMove:
      *other = *item;
      other->related = &items[(item - items + 2) % kItems];
      break;
    case kCount: shelf[amount % kItems] += item->stock / (amount + 1); break;
    case kRename:
      if (text_compare(item->name, other->name) <= 0) {
        text_copy(item->name, other->name);
        item->name[amount % 12] ^= 1;
      }
      break;
  }
  item->last = action;
}

static uint64_t checksum(void) {
  uint64_t sum = (uint64_t)total;
  for (int i = 0; i < kItems; i++) {
    Item* item = &items[i];
    sum = fold(sum, (uint64_t)(item->related - items));
    sum = fold(sum, (uint64_t)item->last << 32 ^ (uint64_t)item->stock ^ (uint64_t)item->price << 16);
    sum = fold(sum, (uint64_t)shelf[i]);
    for (char* c = item->name; *c; c++) sum = fold(sum, (uint64_t)*c);
  }
  return sum;
}

int main(void) {
  uint64_t random = 7;
  for (int i = 0; i < kItems; i++) {
    items[i].related = &items[(i + 1) % kItems];
    items[i].stock = 100 + i;
    items[i].price = 1 + i % 7 + (int)(OWN() >> 58);
    shelf[i] = (int)(OWN() >> 36);
    text_copy(items[i].name, "BRASS LANTERN #..");
    items[i].name[15] = (char)('A' + i % 26);
    items[i].name[16] = (char)('a' + i / 26);
  }
  const int rounds = PASSES(1500000, 6000);
  for (int round = 0; round < rounds; round++) {
    uint32_t dice = random_next(&random);
    Item* item = pick(&items[dice % kItems], (int)(dice >> 29));
    Action action = item->last == kRename && (dice & 64) ? kRename : (Action)((dice >> 8) % 5);
    act(item, action, (int)(dice >> 16) % 23);
    if (text_compare(item->name, items[round % kItems].name) == 0) shelf[round % kItems] ^= round;
  }
  return report("dhry", checksum());
}
