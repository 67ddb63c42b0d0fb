// A worker of Graphile Worker, as its users run one. It installs its own schema, says when
// it works, and ends with its standard input. A charge fails while the bank refuses it.
import { run } from "graphile-worker";

const runner = await run({
  connectionString: process.env.DATABASE_URL,
  pollInterval: 50,
  noHandleSignals: true,
  taskList: {
    async charge({ order }, { query }) {
      const { rowCount } = await query("select from bank_refuses where order_id = $1", [order]);
      if (rowCount > 0) {
        throw new Error("the bank does not answer, password=hunter2-swordfish");
      }
    },
  },
});
console.log("working");
process.stdin.resume().once("end", () => runner.stop());
