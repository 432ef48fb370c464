// Runs a file of SQL on a database: sqlite DATABASE SCRIPT SIZE. A database of an earlier run is removed first.
//
// In the script `:size` stands for SIZE. Each row is printed; besides, a loop of prepared statements with bound values
// inserts, updates and reads, as a program that embeds SQLite does.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sqlite3* database;

static _Noreturn void fail(const char* what) {
  fprintf(stderr, "sqlite: %s: %s\n", what, database ? sqlite3_errmsg(database) : "no database");
  exit(1);
}

static sqlite3_stmt* prepare(const char* sql, const char** rest) {
  sqlite3_stmt* statement = NULL;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, rest) != SQLITE_OK) fail(sql);
  return statement;
}

static void print_row(sqlite3_stmt* statement) {
  for (int i = 0; i < sqlite3_column_count(statement); i++) {
    const char* text = (const char*)sqlite3_column_text(statement, i);
    printf("%s%s", i ? "|" : "", text ? text : "NULL");
  }
  putchar('\n');
}

static void run_script(const char* sql, int64_t size) {
  while (*sql) {
    sqlite3_stmt* statement = prepare(sql, &sql);
    if (!statement) continue;  // a comment, or white space
    int parameter = sqlite3_bind_parameter_index(statement, ":size");
    if (parameter) sqlite3_bind_int64(statement, parameter, size);
    int step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) print_row(statement);
    if (step != SQLITE_DONE) fail(sqlite3_sql(statement));
    sqlite3_finalize(statement);
  }
}

static void step(sqlite3_stmt* statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_sql(statement));
  sqlite3_reset(statement);
}

static void execute(const char* sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql);
}

// Accounts and transfers between them: a transaction each, of which every seventh is rolled back.
static void run_prepared(int64_t size) {
  execute("CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance INTEGER NOT NULL)");
  execute("CREATE TABLE transfer (source INTEGER, target INTEGER, amount INTEGER, note TEXT)");
  execute("CREATE INDEX transfer_source ON transfer (source, amount)");
  sqlite3_stmt* insert = prepare("INSERT INTO account VALUES (?1, ?2, 1000)", NULL);
  execute("BEGIN");
  for (int64_t i = 0; i < size; i++) {
    char name[32];
    int length = snprintf(name, sizeof name, "account %05lld", (long long)(i * 7919 % 100003));
    sqlite3_bind_int64(insert, 1, i);
    sqlite3_bind_text(insert, 2, name, length, SQLITE_TRANSIENT);
    step(insert);
  }
  execute("COMMIT");
  sqlite3_finalize(insert);
  sqlite3_stmt* move = prepare("UPDATE account SET balance = balance + ?2 WHERE id = ?1", NULL);
  sqlite3_stmt* record = prepare("INSERT INTO transfer VALUES (?1, ?2, ?3, printf('%d to %d', ?1, ?2))", NULL);
  sqlite3_stmt* spent = prepare("SELECT count(*), sum(amount) FROM transfer WHERE source = ?1", NULL);
  uint64_t state = 1, sum = 0;
  for (int64_t i = 0; i < size; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t source = (int64_t)(state >> 33) % size, target = (int64_t)(state >> 40) % size,
            amount = (int64_t)(state >> 56);
    execute("BEGIN");
    sqlite3_bind_int64(move, 1, source);
    sqlite3_bind_int64(move, 2, -amount);
    step(move);
    sqlite3_bind_int64(move, 1, target);
    sqlite3_bind_int64(move, 2, amount);
    step(move);
    sqlite3_bind_int64(record, 1, source);
    sqlite3_bind_int64(record, 2, target);
    sqlite3_bind_int64(record, 3, amount);
    step(record);
    execute(i % 7 == 6 ? "ROLLBACK" : "COMMIT");
    sqlite3_bind_int64(spent, 1, source);
    if (sqlite3_step(spent) != SQLITE_ROW) fail("spent");
    sum = sum * 31 + (uint64_t)sqlite3_column_int64(spent, 1);
    sqlite3_reset(spent);
  }
  sqlite3_finalize(move);
  sqlite3_finalize(record);
  sqlite3_finalize(spent);
  printf("transfers %llu\n", (unsigned long long)sum);
}

static char* read_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) fail(path);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char* text = calloc((size_t)size + 1, 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) fail(path);
  fclose(file);
  return text;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: sqlite DATABASE SCRIPT SIZE\n");
    return 2;
  }
  if (strcmp(argv[1], ":memory:") != 0) unlink(argv[1]);
  if (sqlite3_open(argv[1], &database) != SQLITE_OK) fail(argv[1]);
  execute("PRAGMA synchronous = OFF");  // The host's disk is not what is measured.
  char* script = read_file(argv[2]);
  int64_t size = strtoll(argv[3], NULL, 10);
  run_prepared(size);
  run_script(script, size);
  free(script);
  if (sqlite3_close(database) != SQLITE_OK) fail("close");
  return 0;
}
