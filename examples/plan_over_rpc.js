// Plans a motion from JavaScript, over JSON-RPC: node examples/plan_over_rpc.js [config/demo/cell.yaml]
// The server is `robot_cell rpc`; the variable ROBOT_CELL may name another executable.
const { spawn } = require("child_process");
const readline = require("readline");

const [program, ...words] = (process.env.ROBOT_CELL || "robot_cell").split(" ");
const server = spawn(program, [...words, "rpc"], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let calls = 0;

readline.createInterface({ input: server.stdout }).on("line", (line) => {
  const response = JSON.parse(line);
  const { resolve, reject } = waiting.get(response.id);
  waiting.delete(response.id);
  if (response.error) reject(new Error(`${response.error.message}\n${response.error.data?.remedy ?? ""}`));
  else resolve(response.result);
});
server.on("error", (error) => { console.error(`${program} cannot be started: ${error.message}`); process.exit(1); });

function call(method, params) {
  return new Promise((resolve, reject) => {
    calls += 1;
    waiting.set(calls, { resolve, reject });
    server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: calls, method, params }) + "\n");
  });
}

async function main() {
  const cell = await call("load_cell", { file: process.argv[2] || "config/demo/cell.yaml" });
  const [group, { joints }] = Object.entries(cell.groups)[0];
  console.log(`cell ${cell.name}, group ${group} with joints ${joints.join(", ")}`);

  const state = await call("state", {});
  const goal = { [joints[2]]: state.configuration[joints[2]] - 0.4 };
  const plan = await call("plan_motion", {
    request: { group, goals: { joint_goals: [goal] }, options: { seed: 1 } },
  });
  const times = plan.trajectory.times;
  console.log(`planned by ${plan.planner}, ${plan.path.length} waypoints, ${times[times.length - 1].toFixed(2)} s`);
  console.log(`certified free of collisions: ${(100 * plan.certified_fraction).toFixed(0)} % of the path`);
}

main().then(
  () => server.stdin.end(),
  (error) => { console.error(error.message); server.stdin.end(); process.exitCode = 1; },
);
