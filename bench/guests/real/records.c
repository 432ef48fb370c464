// Ordinary C with much of its time in the C library: qsort with callbacks, snprintf, strtod, hashing of strings.
// records SIZE.
#include <math.h>
#include <string.h>

#include "../bench.h"

typedef struct {
  char name[24];
  double score;
  int age;
  unsigned hash;
} Record;

static int by_name(const void* a, const void* b) { return strcmp(((const Record*)a)->name, ((const Record*)b)->name); }

static int by_score(const void* a, const void* b) {
  double left = ((const Record*)a)->score, right = ((const Record*)b)->score;
  return left < right ? -1 : left > right ? 1 : by_name(a, b);
}

static int by_age(const void* a, const void* b) {
  int difference = ((const Record*)a)->age - ((const Record*)b)->age;
  return difference ? difference : by_score(a, b);
}

static unsigned hash_of(const char* text) {
  unsigned hash = 2166136261u;
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
  return hash;
}

// As a line of text, and back, as a program does that reads and writes a table.
static size_t write_line(char* line, size_t room, const Record* record) {
  return (size_t)snprintf(line, room, "%s,%.9g,%d,%08x", record->name, record->score, record->age, record->hash);
}

static void read_line(Record* record, char* line) {
  char* name = strtok(line, ",");
  char* score = strtok(NULL, ",");
  char* age = strtok(NULL, ",");
  char* hash = strtok(NULL, ",");
  snprintf(record->name, sizeof record->name, "%s", name);
  record->score = strtod(score, NULL);
  record->age = (int)strtol(age, NULL, 10);
  record->hash = (unsigned)strtoul(hash, NULL, 16);
}

// An open-addressing table of the names; returns how often a name was there already.
static unsigned count_doubles(const Record* records, size_t count) {
  size_t slots = 1;
  while (slots < 2 * count) slots *= 2;
  const Record** table = allocate(slots * sizeof *table);
  memset(table, 0, slots * sizeof *table);
  unsigned doubles = 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = hash_of(records[i].name) & (slots - 1);
    while (table[at] && strcmp(table[at]->name, records[i].name) != 0) at = (at + 1) & (slots - 1);
    if (table[at]) doubles++;
    table[at] = &records[i];
  }
  free(table);
  return doubles;
}

static uint64_t pass(Record* records, size_t count, uint64_t* state, uint64_t sum) {
  for (size_t i = 0; i < count; i++) {
    Record* record = &records[i];
    snprintf(record->name, sizeof record->name, "%c%c-%05u", 'a' + random_next(state) % 26,
             'a' + random_next(state) % 26, random_next(state) % (unsigned)count);
    record->score = sqrt(random_next(state) % 100000) * pow(1.5, random_next(state) % 20) - 1000;
    record->age = 18 + (int)(random_next(state) % 60);
    record->hash = hash_of(record->name);
  }
  sum = fold(sum, count_doubles(records, count));
  int (*const orders[])(const void*, const void*) = {by_name, by_score, by_age};
  for (int order = 0; order < 3; order++) {
    qsort(records, count, sizeof *records, orders[order]);
    for (size_t i = 0; i < count; i += 97) sum = fold(sum, records[i].hash);
  }
  for (size_t i = 0; i < count; i++) {
    char line[80];
    sum = fold(sum, write_line(line, sizeof line, &records[i]));
    Record back;
    read_line(&back, line);
    sum = fold(sum, strcmp(back.name, records[i].name) == 0 && back.hash == records[i].hash);
    sum = fold(sum, (uint64_t)(int64_t)llround(back.score * 16));
  }
  return sum;
}

#ifndef KVRM_JOB
int main(int argc, char** argv) {
  int passes = argc > 1 ? atoi(argv[1]) : 1;
  size_t count = 5000;
  Record* records = allocate(count * sizeof *records);
  uint64_t state = 7, sum = 0;
  for (int i = 0; i < passes; i++) sum = pass(records, count, &state, sum);
  free(records);
  return report("records", sum);
}
#endif
