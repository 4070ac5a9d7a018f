// SPDX-License-Identifier: Apache-2.0

// The official Node client, unmodified, against the real binary. SLUICE_BINARY names
// it; SLUICE_NODE_MODULES the folder the client is in; SLUICE_TRANSPORT is grpc (the
// default) or rest, the client's "fallback" mode.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';

const require = createRequire(path.join(process.env.SLUICE_NODE_MODULES, 'anchor.js'));
const {CloudTasksClient} = require('@google-cloud/tasks');
const grpc = require('@grpc/grpc-js');
const {GoogleAuth, PassThroughClient} = require('google-auth-library');

const IS_REST = process.env.SLUICE_TRANSPORT === 'rest';
const PARENT = 'projects/p/locations/l';
const SOON_MS = 20_000;
// Over REST this client's errors carry the HTTP status.
const ALREADY_EXISTS = IS_REST ? 409 : 6;
const INVALID_ARGUMENT = IS_REST ? 400 : 3;
const NOT_FOUND = IS_REST ? 404 : 5;

let folder;
let server;
let client;
let target;
const requests = [];

const GRPC = {sslCreds: grpc.credentials.createInsecure()};
const REST = {
  fallback: 'rest', protocol: 'http', numericEnums: true, minifyJson: true,
  auth: new GoogleAuth({authClient: new PassThroughClient()})};

async function waitUntil(condition, describe) {
  const end = Date.now() + SOON_MS;
  while (!(await condition())) {
    if (Date.now() > end) assert.fail(describe());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-node-'));
  const portFile = path.join(folder, 'port');
  server = spawn(
      process.env.SLUICE_BINARY,
      ['serve', '--listen', '127.0.0.1:0', '--data-dir', path.join(folder, 'data'), '--port-file', portFile],
      {stdio: 'ignore'});
  await waitUntil(() => fs.existsSync(portFile) && fs.readFileSync(portFile, 'utf8').trim() !== '',
                  () => 'the server did not get ready');
  const port = Number(fs.readFileSync(portFile, 'utf8'));
  client = new CloudTasksClient({servicePath: '127.0.0.1', port, ...(IS_REST ? REST : GRPC)});
  target = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({path: request.url, method: request.method, raw: request.rawHeaders,
                     body: Buffer.concat(chunks).toString()});
      response.end();
    });
  });
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
});

after(async () => {
  await client.close();
  target.close();
  target.closeAllConnections();
  server.kill('SIGTERM');
  const [code] = await once(server, 'exit');
  fs.rmSync(folder, {recursive: true});
  assert.equal(code, 0);
});

const url = (suffix) => `http://127.0.0.1:${target.address().port}${suffix}`;
const arrived = (suffix) => requests.filter((r) => r.path === suffix);

async function newQueue(id, fields = {}) {
  const name = `${PARENT}/queues/${id}`;
  await client.createQueue({parent: PARENT, queue: {name, ...fields}});
  return name;
}

test('a task reaches its target with body, method and headers (lines 49, 79)', async () => {
  const queue = await newQueue('send');
  const [task] = await client.createTask({parent: queue, task: {httpRequest: {
    url: url('/send'), httpMethod: 'PUT', headers: {'X-Mine': 'kept'},
    body: Buffer.from('hello').toString('base64')}}});
  assert.equal(task.httpRequest.httpMethod, 'PUT');
  await waitUntil(() => arrived('/send').length === 1, () => 'the task did not arrive');
  const [got] = arrived('/send');
  assert.equal(got.body, 'hello');
  assert.equal(got.method, 'PUT');
  const header = (name) => got.raw[got.raw.indexOf(name) + 1];
  assert.equal(header('X-Mine'), 'kept');
  assert.equal(header('X-CloudTasks-QueueName'), 'send');
  assert.equal(header('X-CloudTasks-TaskName'), task.name.split('/').pop());
});

test('a name is taken once (line 53)', async () => {
  const queue = await newQueue('names');
  const create = () => client.createTask({parent: queue, task: {
    name: `${queue}/tasks/once`, httpRequest: {url: url('/names')}}});
  await create();
  await assert.rejects(create, {code: ALREADY_EXISTS});
});

test('queues are listed in pages and in order (lines 24, 25)', async () => {
  const parent = 'projects/p/locations/pages';
  for (const id of ['z', 'a', 'm']) {
    await client.createQueue({parent, queue: {name: `${parent}/queues/${id}`}});
  }
  const ids = [];
  for await (const queue of client.listQueuesAsync({parent, pageSize: 2})) {
    ids.push(queue.name.split('/').pop());
  }
  assert.deepEqual(ids, ['a', 'm', 'z']);
});

test('an update mask changes only its leaf (line 33)', async () => {
  const name = await newQueue('mask', {retryConfig: {maxAttempts: 7}});
  const [queue] = await client.updateQueue({
    queue: {name, rateLimits: {maxDispatchesPerSecond: 10}},
    updateMask: {paths: ['rate_limits.max_dispatches_per_second']}});
  assert.equal(queue.rateLimits.maxDispatchesPerSecond, 10);
  assert.equal(queue.rateLimits.maxBurstSize, 10);
  assert.equal(queue.retryConfig.maxAttempts, 7);
});

test('pause, purge, resume and delete (lines 20, 43, 47)', async () => {
  const queue = await newQueue('states');
  assert.equal((await client.pauseQueue({name: queue}))[0].state, 'PAUSED');
  await client.createTask({parent: queue, task: {httpRequest: {url: url('/states')}}});
  assert.equal((await client.listTasks({parent: queue}))[0].length, 1);
  assert.ok((await client.purgeQueue({name: queue}))[0].purgeTime);
  assert.equal((await client.listTasks({parent: queue}))[0].length, 0);
  assert.equal((await client.resumeQueue({name: queue}))[0].state, 'RUNNING');
  await client.deleteQueue({name: queue});
  await assert.rejects(client.getQueue({name: queue}), {code: NOT_FOUND});
});

test('a task of tomorrow is read, run now and gone (lines 68, 75)', async () => {
  const queue = await newQueue('run');
  const [task] = await client.createTask({parent: queue, task: {
    httpRequest: {url: url('/run'), body: Buffer.from('b').toString('base64')},
    scheduleTime: {seconds: Math.floor(Date.now() / 1000) + 86400}}});
  const [full] = await client.getTask({name: task.name, responseView: 'FULL'});
  assert.equal(full.httpRequest.body.toString(), 'b');
  const [running] = await client.runTask({name: task.name});
  assert.equal(running.dispatchCount, 1);
  await waitUntil(async () => {
    try {
      await client.getTask({name: task.name});
      return false;
    } catch (error) {
      return error.code === NOT_FOUND;
    }
  }, () => 'the task is still there');
  assert.equal(arrived('/run').length, 1);
});

test('errors carry their code and name what is wrong (lines 3, 58)', async () => {
  await assert.rejects(
      client.createQueue({parent: PARENT, queue: {name: `${PARENT}/queues/under_score`}}),
      (error) => error.code === INVALID_ARGUMENT && error.message.includes('under_score'));
  const queue = await newQueue('errors');
  await assert.rejects(
      client.createTask({parent: queue, task: {httpRequest: {url: 'ftp://x'}}}), {code: INVALID_ARGUMENT});
  await assert.rejects(
      client.createTask({parent: queue, task: {appEngineHttpRequest: {relativeUri: 'x'}}}),
      {code: INVALID_ARGUMENT});
});
