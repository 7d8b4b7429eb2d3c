// Runs a query by the driver of ADBC for Flight SQL: calls URI AUTHORIZATION TEXT prints the name and format of the
// first column, which has 64 bits, and its sum; or, on standard error, what the driver says.
#include <adbc.h>
#include <stdio.h>

#define OK(call)                            \
  if ((call) != ADBC_STATUS_OK) {           \
    fprintf(stderr, "%s\n", error.message); \
    return 1;                               \
  }

int main(int count, char** words) {
  if (count != 4) return 2;
  struct AdbcError error = ADBC_ERROR_INIT;
  struct AdbcDatabase database = {0};
  OK(AdbcDatabaseNew(&database, &error))
  OK(AdbcDatabaseSetOption(&database, "uri", words[1], &error))
  OK(AdbcDatabaseSetOption(&database, "adbc.flight.sql.authorization_header", words[2], &error))
  OK(AdbcDatabaseInit(&database, &error))
  struct AdbcConnection connection = {0};
  OK(AdbcConnectionNew(&connection, &error))
  OK(AdbcConnectionInit(&connection, &database, &error))
  struct AdbcStatement statement = {0};
  OK(AdbcStatementNew(&connection, &statement, &error))
  OK(AdbcStatementSetSqlQuery(&statement, words[3], &error))
  struct ArrowArrayStream rows;
  OK(AdbcStatementExecuteQuery(&statement, &rows, NULL, &error))
  struct ArrowSchema schema;
  if (rows.get_schema(&rows, &schema)) return 3;
  printf("%s %s\n", schema.children[0]->name, schema.children[0]->format);
  schema.release(&schema);
  long long sum = 0;
  struct ArrowArray batch;
  while (!rows.get_next(&rows, &batch) && batch.release) {
    const struct ArrowArray* column = batch.children[0];
    const int64_t* values = (const int64_t*)column->buffers[1] + column->offset;
    for (int64_t i = 0; i < column->length; i++) sum += values[i];
    batch.release(&batch);
  }
  printf("%lld\n", sum);
  rows.release(&rows);
  OK(AdbcStatementRelease(&statement, &error))
  OK(AdbcConnectionRelease(&connection, &error))
  OK(AdbcDatabaseRelease(&database, &error))
  return 0;
}
