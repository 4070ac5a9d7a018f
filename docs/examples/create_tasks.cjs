// SPDX-License-Identifier: Apache-2.0
//
// Create three tasks with the official Node client: two now, one in five seconds.
//
// Usage: NODE_PATH=.deps/npm/node_modules node docs/examples/create_tasks.cjs [SERVER [TARGET]]
'use strict';

// Outside Google's machines the library would look for their metadata server, and warn.
process.env.METADATA_SERVER_DETECTION ??= 'none';

const {CloudTasksClient} = require('@google-cloud/tasks');
const {grpc} = require('google-gax');

async function main(server = '127.0.0.1:8085', target = 'http://127.0.0.1:9000/orders') {
  const [host, port] = server.split(':');
  const client = new CloudTasksClient({
    apiEndpoint: host,
    port: Number(port),
    sslCreds: grpc.credentials.createInsecure(),
  });
  const parent = client.queuePath('demo', 'local', 'orders'); // declared in quickstart.yaml

  const inFiveSeconds = {seconds: Math.floor(Date.now() / 1000) + 5};
  for (const [body, scheduleTime] of [['first'], ['second'], ['third', inFiveSeconds]]) {
    const [task] = await client.createTask({
      parent,
      task: {
        scheduleTime,
        httpRequest: {httpMethod: 'POST', url: target, body: Buffer.from(body)},
      },
    });
    console.log('created', task.name);
  }
  await client.close();
}

main(...process.argv.slice(2)).catch(error => {
  console.error(error.message);
  process.exitCode = 1;
});
