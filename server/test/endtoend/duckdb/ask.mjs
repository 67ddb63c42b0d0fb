// Answers questions about Parquet files with DuckDB: each argument is one, each line of
// the output is the rows of its answer, as JSON.
import { DuckDBInstance } from "@duckdb/node-api";

const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
await connection.run("set timezone = 'UTC'");
for (const question of process.argv.slice(2)) {
  const answer = await connection.runAndReadAll(question);
  console.log(JSON.stringify(answer.getRowObjectsJson()));
}
