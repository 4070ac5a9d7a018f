// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.StatusCode;
import com.google.cloud.tasks.v2.CloudTasksClient;
import com.google.cloud.tasks.v2.CloudTasksSettings;
import com.google.cloud.tasks.v2.GetTaskRequest;
import com.google.cloud.tasks.v2.HttpMethod;
import com.google.cloud.tasks.v2.HttpRequest;
import com.google.cloud.tasks.v2.ListQueuesRequest;
import com.google.cloud.tasks.v2.ListTasksRequest;
import com.google.cloud.tasks.v2.Queue;
import com.google.cloud.tasks.v2.RateLimits;
import com.google.cloud.tasks.v2.RetryConfig;
import com.google.cloud.tasks.v2.Task;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.FieldMask;
import com.google.protobuf.Timestamp;
import io.grpc.ManagedChannelBuilder;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The official Java client, unmodified, against the real binary: each test over gRPC and over
 * REST (the client's HTTP/JSON transport). Numbers name lines of the acceptance list.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConformanceTest {
  enum Transport {
    GRPC,
    REST;

    String parent() {
      return "projects/p/locations/" + name().toLowerCase();
    }
  }

  private static final long SOON_SECONDS = 20;
  private static final long DAY_SECONDS = 86_400;
  private static final String NOWHERE = "http://127.0.0.1:9/";

  private SluiceProcess server;
  private CloudTasksClient grpc;
  private CloudTasksClient rest;

  @BeforeAll
  void start() throws Exception {
    server = new SluiceProcess();
    grpc =
        CloudTasksClient.create(
            CloudTasksSettings.newBuilder()
                .setCredentialsProvider(NoCredentialsProvider.create())
                .setTransportChannelProvider(
                    CloudTasksSettings.defaultGrpcTransportProviderBuilder()
                        .setEndpoint(server.address())
                        .setChannelConfigurator(ManagedChannelBuilder::usePlaintext)
                        .build())
                .build());
    rest =
        CloudTasksClient.create(
            CloudTasksSettings.newHttpJsonBuilder()
                .setCredentialsProvider(NoCredentialsProvider.create())
                .setTransportChannelProvider(
                    CloudTasksSettings.defaultHttpJsonTransportProviderBuilder()
                        .setEndpoint("http://" + server.address())
                        .build())
                .build());
  }

  @AfterAll
  void stop() throws Exception {
    for (CloudTasksClient client : List.of(grpc, rest)) {
      client.shutdown();
      assertTrue(client.awaitTermination(SOON_SECONDS, TimeUnit.SECONDS));
    }
    server.close();
  }

  private CloudTasksClient client(Transport transport) {
    return transport == Transport.GRPC ? grpc : rest;
  }

  private String newQueue(Transport transport, String id) {
    String name = transport.parent() + "/queues/" + id;
    client(transport).createQueue(transport.parent(), Queue.newBuilder().setName(name).build());
    return name;
  }

  private static Task.Builder task(String url, long inSeconds) {
    Task.Builder task = Task.newBuilder();
    task.getHttpRequestBuilder().setUrl(url).setBody(ByteString.copyFromUtf8("b\0dy")).putHeaders("X-Mine", "kept");
    if (inSeconds != 0) {
      task.setScheduleTime(Timestamp.newBuilder().setSeconds(Instant.now().getEpochSecond() + inSeconds));
    }
    return task;
  }

  private static void waitUntil(String what, BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, "waited in vain for: " + what);
      Thread.sleep(5);
    }
  }

  private boolean isGone(Transport transport, String task) {
    try {
      client(transport).getTask(task);
      return false;
    } catch (NotFoundException gone) {
      return true;
    }
  }

  /** The client derives the code from the HTTP status over REST, where 409 is always ABORTED. */
  private static StatusCode.Code alreadyExists(Transport transport) {
    return transport == Transport.GRPC ? StatusCode.Code.ALREADY_EXISTS : StatusCode.Code.ABORTED;
  }

  private static void assertRefused(StatusCode.Code code, String text, Executable call) {
    ApiException refused = assertThrows(ApiException.class, call);
    assertEquals(code, refused.getStatusCode().getCode(), refused.toString());
    assertTrue(refused.getMessage().contains(text), refused.getMessage());
  }

  @ParameterizedTest
  @EnumSource
  void line1QueueDefaults(Transport transport) {
    Queue queue = client(transport).getQueue(newQueue(transport, "defaults"));
    assertEquals(500, queue.getRateLimits().getMaxDispatchesPerSecond());
    assertEquals(100, queue.getRateLimits().getMaxBurstSize());
    assertEquals(1000, queue.getRateLimits().getMaxConcurrentDispatches());
    assertEquals(
        RetryConfig.newBuilder()
            .setMaxAttempts(100)
            .setMinBackoff(Duration.newBuilder().setNanos(100_000_000))
            .setMaxBackoff(Duration.newBuilder().setSeconds(3600))
            .setMaxDoublings(16)
            .build(),
        queue.getRetryConfig());
    assertEquals(Queue.State.RUNNING, queue.getState());
  }

  @ParameterizedTest
  @EnumSource
  void line79TaskReachesItsTarget(Transport transport) throws Exception {
    String queue = newQueue(transport, "send");
    try (Target target = new Target(200)) {
      Task task = client(transport).createTask(queue, task(target.url() + "/x?k=1", 0).build());
      assertEquals(HttpMethod.POST, task.getHttpRequest().getHttpMethod());
      waitUntil("the task at its target", () -> target.received.size() == 1);
      Target.Received got = target.received.get(0);
      assertEquals("b\0dy", got.body());
      assertEquals("/x?k=1", got.path());
      assertEquals("POST", got.method());
      assertEquals("kept", got.header("X-Mine"));
      assertEquals("send", got.header("X-CloudTasks-QueueName"));
      assertEquals(task.getName(), queue + "/tasks/" + got.header("X-CloudTasks-TaskName"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void line75TaskIsReadAndRunOnce(Transport transport) throws Exception {
    String queue = newQueue(transport, "run");
    try (Target target = new Target(204)) {
      String name = queue + "/tasks/tomorrow";
      Task task = client(transport).createTask(queue, task(target.url(), DAY_SECONDS).setName(name).build());
      assertEquals(Task.View.BASIC, task.getView());
      assertTrue(task.getHttpRequest().getBody().isEmpty());
      Task full =
          client(transport)
              .getTask(GetTaskRequest.newBuilder().setName(name).setResponseView(Task.View.FULL).build());
      assertEquals("b\0dy", full.getHttpRequest().getBody().toStringUtf8());
      Task running = client(transport).runTask(name);
      assertEquals(1, running.getDispatchCount());
      assertFalse(running.getLastAttempt().hasResponseTime());
      waitUntil("the end of the task", () -> isGone(transport, name));
      assertEquals(1, target.received.size());
    }
  }

  @ParameterizedTest
  @EnumSource
  void line71DeletedTaskIsGone(Transport transport) {
    String queue = newQueue(transport, "delete");
    Task task = client(transport).createTask(queue, task(NOWHERE, DAY_SECONDS).build());
    client(transport).deleteTask(task.getName());
    assertRefused(StatusCode.Code.NOT_FOUND, task.getName(), () -> client(transport).deleteTask(task.getName()));
  }

  @ParameterizedTest
  @EnumSource
  void line25ListsComeInPagesAndInOrder(Transport transport) {
    String parent = transport.parent() + "-pages";
    for (String id : List.of("z", "a", "m")) {
      client(transport).createQueue(parent, Queue.newBuilder().setName(parent + "/queues/" + id).build());
    }
    List<String> ids = new ArrayList<>();
    ListQueuesRequest queues = ListQueuesRequest.newBuilder().setParent(parent).setPageSize(2).build();
    for (Queue queue : client(transport).listQueues(queues).iterateAll()) {
      ids.add(queue.getName().substring(parent.length() + "/queues/".length()));
    }
    assertEquals(List.of("a", "m", "z"), ids);
    String queue = parent + "/queues/a";
    for (int i = 0; i < 5; ++i) client(transport).createTask(queue, task(NOWHERE, DAY_SECONDS).build());
    Set<String> tasks = new HashSet<>();
    ListTasksRequest list =
        ListTasksRequest.newBuilder().setParent(queue).setPageSize(2).setResponseView(Task.View.FULL).build();
    for (Task task : client(transport).listTasks(list).iterateAll()) {
      assertTrue(tasks.add(task.getName()), task.getName());
      assertFalse(task.getHttpRequest().getBody().isEmpty());
    }
    assertEquals(5, tasks.size());
  }

  @ParameterizedTest
  @EnumSource
  void line43PauseHoldsResumeSends(Transport transport) throws Exception {
    String queue = newQueue(transport, "pause");
    try (Target target = new Target(200)) {
      assertEquals(Queue.State.PAUSED, client(transport).pauseQueue(queue).getState());
      Task task = client(transport).createTask(queue, task(target.url(), 0).build());
      assertFalse(isGone(transport, task.getName()));
      assertEquals(0, target.received.size());
      assertEquals(Queue.State.RUNNING, client(transport).resumeQueue(queue).getState());
      waitUntil("the held task", () -> target.received.size() == 1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void line47PurgeEmptiesAndLine20DeleteRemoves(Transport transport) {
    String queue = newQueue(transport, "purge");
    client(transport).createTask(queue, task(NOWHERE, DAY_SECONDS).build());
    assertTrue(client(transport).purgeQueue(queue).hasPurgeTime());
    assertFalse(client(transport).listTasks(queue).iterateAll().iterator().hasNext());
    client(transport).deleteQueue(queue);
    assertRefused(StatusCode.Code.NOT_FOUND, queue, () -> client(transport).getQueue(queue));
  }

  @ParameterizedTest
  @EnumSource
  void line33UpdateMaskChangesItsLeafOnly(Transport transport) {
    String name = newQueue(transport, "mask");
    Queue queue =
        client(transport)
            .updateQueue(
                Queue.newBuilder()
                    .setName(name)
                    .setRateLimits(RateLimits.newBuilder().setMaxDispatchesPerSecond(10))
                    .setRetryConfig(RetryConfig.newBuilder().setMaxAttempts(3))
                    .build(),
                FieldMask.newBuilder().addPaths("rate_limits.max_dispatches_per_second").build());
    assertEquals(10, queue.getRateLimits().getMaxDispatchesPerSecond());
    assertEquals(100, queue.getRetryConfig().getMaxAttempts());
  }

  @ParameterizedTest
  @EnumSource
  void line98ExhaustedTaskIsDropped(Transport transport) throws Exception {
    String name = transport.parent() + "/queues/retry";
    RetryConfig retry = RetryConfig.newBuilder().setMaxAttempts(3).build();
    client(transport)
        .createQueue(transport.parent(), Queue.newBuilder().setName(name).setRetryConfig(retry).build());
    try (Target target = new Target(500)) {
      Task task = client(transport).createTask(name, task(target.url(), 0).build());
      waitUntil("the task to be dropped", () -> isGone(transport, task.getName()));
      List<String> counts =
          target.received.stream().map(got -> got.header("X-CloudTasks-TaskRetryCount")).toList();
      assertEquals(List.of("0", "1", "2"), counts);
    }
  }

  @ParameterizedTest
  @EnumSource
  void line116ErrorsCarryTheirCodeAndNameWhatIsWrong(Transport transport) {
    CloudTasksClient client = client(transport);
    String queue = newQueue(transport, "errors");
    String missing = transport.parent() + "/queues/none";
    String bad = transport.parent() + "/queues/under_score";
    Task named = task(NOWHERE, DAY_SECONDS).setName(queue + "/tasks/once").build();
    client.createTask(queue, named);
    assertRefused(
        alreadyExists(transport),
        queue,
        () -> client.createQueue(transport.parent(), Queue.newBuilder().setName(queue).build()));
    assertRefused(
        StatusCode.Code.INVALID_ARGUMENT,
        "under_score",
        () -> client.createQueue(transport.parent(), Queue.newBuilder().setName(bad).build()));
    assertRefused(
        StatusCode.Code.INVALID_ARGUMENT, "ftp://x", () -> client.createTask(queue, task("ftp://x", 0).build()));
    assertRefused(
        StatusCode.Code.NOT_FOUND, missing, () -> client.createTask(missing, task(NOWHERE, 0).build()));
    assertRefused(alreadyExists(transport), "once", () -> client.createTask(queue, named));
  }
}
