// SPDX-License-Identifier: Apache-2.0

// The official Go client, unmodified, against the real binary: the same suite over
// gRPC and over REST. SLUICE_BINARY names the server. The names in parentheses are
// lines of the task service's acceptance list.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	soon        = 20 * time.Second
	binaryNamed = "SLUICE_BINARY"
)

var address string

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

// withServer starts the binary, runs the tests, and fails them when it does not stop cleanly.
func withServer(run func() int) int {
	folder, err := os.MkdirTemp("", "sluice-go-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	portFile := filepath.Join(folder, "port")
	server := exec.Command(os.Getenv(binaryNamed), "serve", "--listen", "127.0.0.1:0",
		"--data-dir", filepath.Join(folder, "data"), "--port-file", portFile)
	if err := server.Start(); err != nil {
		panic(fmt.Sprintf("%s: %v", binaryNamed, err))
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	for begin := time.Now(); address == ""; time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-ended:
			panic(fmt.Sprintf("the server ended before it was ready: %v", err))
		default:
		}
		port, _ := os.ReadFile(portFile)
		if text := strings.TrimSpace(string(port)); text != "" {
			address = "127.0.0.1:" + text
		} else if time.Since(begin) > 3*soon {
			panic("the server did not get ready")
		}
	}
	code := run()
	server.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		fmt.Fprintln(os.Stderr, "the server stopped with", err)
		return 1
	}
	return code
}

// target is an HTTP server that keeps what arrives.
type target struct {
	*httptest.Server
	mutex    sync.Mutex
	requests []received
}

type received struct {
	request *http.Request
	body    string
}

func newTarget(t *testing.T, status int) *target {
	made := &target{}
	made.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		made.mutex.Lock()
		made.requests = append(made.requests, received{r, string(body)})
		made.mutex.Unlock()
		w.WriteHeader(status)
	}))
	t.Cleanup(made.Close)
	return made
}

func (t *target) arrived() []received {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.requests)
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > soon {
			t.Fatalf("waited %v in vain for: %s", soon, what)
		}
	}
}

// suite is one transport of the client, with a location of its own.
type suite struct {
	client *cloudtasks.Client
	parent string
	isREST bool
}

func eachTransport(t *testing.T, test func(*testing.T, *suite)) {
	ctx := context.Background()
	t.Run("grpc", func(t *testing.T) {
		connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(t, err)
		client, err := cloudtasks.NewClient(ctx, option.WithGRPCConn(connection))
		must(t, err)
		defer client.Close()
		test(t, &suite{client, "projects/p/locations/grpc", false})
	})
	t.Run("rest", func(t *testing.T) {
		client, err := cloudtasks.NewRESTClient(ctx, option.WithEndpoint("http://"+address),
			option.WithoutAuthentication())
		must(t, err)
		defer client.Close()
		test(t, &suite{client, "projects/p/locations/rest", true})
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails unless err is the client's error for the code, with the text in it.
// The client derives a code from the HTTP status over REST, where 400 has two.
func (s *suite) refused(t *testing.T, err error, code codes.Code, httpStatus int, text string) {
	t.Helper()
	var failure *apierror.APIError
	if !errors.As(err, &failure) {
		t.Fatalf("expected %v, got %v", code, err)
	}
	if s.isREST && failure.HTTPCode() != httpStatus {
		t.Fatalf("expected HTTP %d, got %d: %v", httpStatus, failure.HTTPCode(), err)
	}
	if !s.isREST && failure.GRPCStatus().Code() != code {
		t.Fatalf("expected %v, got %v", code, err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Fatalf("the error does not say %q: %v", text, err)
	}
}

func (s *suite) newQueue(t *testing.T, id string) string {
	t.Helper()
	name := s.parent + "/queues/" + id
	queue, err := s.client.CreateQueue(context.Background(), &cloudtaskspb.CreateQueueRequest{
		Parent: s.parent, Queue: &cloudtaskspb.Queue{Name: name}})
	must(t, err)
	if queue.GetRateLimits().GetMaxDispatchesPerSecond() != 500 || queue.GetState() != cloudtaskspb.Queue_RUNNING {
		t.Fatalf("not a queue with defaults: %v", queue)
	}
	return name
}

func httpTask(name, url string, in time.Duration) *cloudtaskspb.Task {
	task := &cloudtaskspb.Task{Name: name, MessageType: &cloudtaskspb.Task_HttpRequest{
		HttpRequest: &cloudtaskspb.HttpRequest{Url: url, Body: []byte("b\x00dy"),
			Headers: map[string]string{"X-Mine": "kept"}}}}
	if in != 0 {
		task.ScheduleTime = timestamppb.New(time.Now().Add(in))
	}
	return task
}

func (s *suite) create(queue string, task *cloudtaskspb.Task) (*cloudtaskspb.Task, error) {
	return s.client.CreateTask(context.Background(), &cloudtaskspb.CreateTaskRequest{Parent: queue, Task: task})
}

func (s *suite) isGone(name string) bool {
	_, err := s.client.GetTask(context.Background(), &cloudtaskspb.GetTaskRequest{Name: name})
	var failure *apierror.APIError
	return errors.As(err, &failure) && (failure.GRPCStatus().Code() == codes.NotFound || failure.HTTPCode() == 404)
}

// (1, 49, 79, 80)
func TestTaskReachesItsTarget(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		queue, to := s.newQueue(t, "send"), newTarget(t, 200)
		task, err := s.create(queue, httpTask("", to.URL+"/x?k=1", 0))
		must(t, err)
		if task.GetHttpRequest().GetHttpMethod() != cloudtaskspb.HttpMethod_POST {
			t.Fatalf("not POST: %v", task)
		}
		waitUntil(t, "the task at its target", func() bool { return len(to.arrived()) == 1 })
		got := to.arrived()[0]
		if got.body != "b\x00dy" || got.request.URL.String() != "/x?k=1" || got.request.Method != "POST" ||
			got.request.Header.Get("X-Mine") != "kept" ||
			got.request.Header.Get("X-CloudTasks-QueueName") != "send" ||
			!strings.HasSuffix(task.GetName(), "/"+got.request.Header.Get("X-CloudTasks-TaskName")) {
			t.Fatalf("%q %v", got.body, got.request)
		}
	})
}

// (68, 71, 74, 75)
func TestTaskIsReadRunAndDeleted(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		ctx := context.Background()
		queue, to := s.newQueue(t, "run"), newTarget(t, 204)
		task, err := s.create(queue, httpTask(queue+"/tasks/run", to.URL, 24*time.Hour))
		must(t, err)
		if task.GetHttpRequest().GetBody() != nil || task.GetView() != cloudtaskspb.Task_BASIC {
			t.Fatalf("not BASIC: %v", task)
		}
		full, err := s.client.GetTask(ctx, &cloudtaskspb.GetTaskRequest{
			Name: task.GetName(), ResponseView: cloudtaskspb.Task_FULL})
		must(t, err)
		if string(full.GetHttpRequest().GetBody()) != "b\x00dy" || full.GetView() != cloudtaskspb.Task_FULL {
			t.Fatalf("not FULL: %v", full)
		}
		running, err := s.client.RunTask(ctx, &cloudtaskspb.RunTaskRequest{Name: task.GetName()})
		must(t, err)
		if running.GetDispatchCount() != 1 || running.GetLastAttempt().GetResponseTime() != nil {
			t.Fatalf("not just sent: %v", running)
		}
		waitUntil(t, "the end of the task", func() bool { return s.isGone(task.GetName()) })
		if len(to.arrived()) != 1 {
			t.Fatalf("sent %d times", len(to.arrived()))
		}
		other, err := s.create(queue, httpTask("", to.URL, time.Hour))
		must(t, err)
		must(t, s.client.DeleteTask(ctx, &cloudtaskspb.DeleteTaskRequest{Name: other.GetName()}))
		s.refused(t, s.client.DeleteTask(ctx, &cloudtaskspb.DeleteTaskRequest{Name: other.GetName()}),
			codes.NotFound, 404, "")
	})
}

// (24, 25, 30)
func TestListsComeInPagesAndInOrder(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		ctx := context.Background()
		parent := s.parent + "-pages"
		for _, id := range []string{"z", "a", "m"} {
			_, err := s.client.CreateQueue(ctx, &cloudtaskspb.CreateQueueRequest{
				Parent: parent, Queue: &cloudtaskspb.Queue{Name: parent + "/queues/" + id}})
			must(t, err)
		}
		var ids []string
		queues := s.client.ListQueues(ctx, &cloudtaskspb.ListQueuesRequest{Parent: parent, PageSize: 2})
		for queue, err := queues.Next(); err != iterator.Done; queue, err = queues.Next() {
			must(t, err)
			ids = append(ids, filepath.Base(queue.GetName()))
		}
		if !slices.Equal(ids, []string{"a", "m", "z"}) {
			t.Fatal(ids)
		}
		queue := parent + "/queues/a"
		for i := range 5 {
			_, err := s.create(queue, httpTask(fmt.Sprintf("%s/tasks/t%d", queue, i), "http://127.0.0.1:9/", time.Hour))
			must(t, err)
		}
		seen := map[string]int{}
		tasks := s.client.ListTasks(ctx, &cloudtaskspb.ListTasksRequest{
			Parent: queue, PageSize: 2, ResponseView: cloudtaskspb.Task_FULL})
		for task, err := tasks.Next(); err != iterator.Done; task, err = tasks.Next() {
			must(t, err)
			seen[task.GetName()]++
			if len(task.GetHttpRequest().GetBody()) == 0 {
				t.Fatalf("no body in FULL: %v", task)
			}
		}
		if len(seen) != 5 {
			t.Fatal(seen)
		}
	})
}

// (20, 43, 47)
func TestPausePurgeResumeDelete(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		ctx := context.Background()
		queue, to := s.newQueue(t, "states"), newTarget(t, 200)
		paused, err := s.client.PauseQueue(ctx, &cloudtaskspb.PauseQueueRequest{Name: queue})
		must(t, err)
		purged, err := s.client.PurgeQueue(ctx, &cloudtaskspb.PurgeQueueRequest{Name: queue})
		must(t, err)
		if paused.GetState() != cloudtaskspb.Queue_PAUSED || purged.GetPurgeTime() == nil {
			t.Fatal(paused, purged)
		}
		task, err := s.create(queue, httpTask("", to.URL, 0))
		must(t, err)
		if s.isGone(task.GetName()) || len(to.arrived()) != 0 {
			t.Fatal("a paused queue sent a task")
		}
		_, err = s.client.ResumeQueue(ctx, &cloudtaskspb.ResumeQueueRequest{Name: queue})
		must(t, err)
		waitUntil(t, "the held task", func() bool { return len(to.arrived()) == 1 })
		must(t, s.client.DeleteQueue(ctx, &cloudtaskspb.DeleteQueueRequest{Name: queue}))
		_, err = s.client.GetQueue(ctx, &cloudtaskspb.GetQueueRequest{Name: queue})
		s.refused(t, err, codes.NotFound, 404, queue)
	})
}

// (33, 34)
func TestUpdateMaskChangesItsLeafOnly(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		name := s.newQueue(t, "mask")
		queue, err := s.client.UpdateQueue(context.Background(), &cloudtaskspb.UpdateQueueRequest{
			Queue: &cloudtaskspb.Queue{Name: name, RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: 10},
				RetryConfig: &cloudtaskspb.RetryConfig{MaxAttempts: 3}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"rate_limits.max_dispatches_per_second"}}})
		must(t, err)
		if queue.GetRateLimits().GetMaxDispatchesPerSecond() != 10 || queue.GetRetryConfig().GetMaxAttempts() != 100 {
			t.Fatal(queue)
		}
	})
}

// (2, 3, 53, 56, 58, 116)
func TestErrorsCarryTheirCodeAndNameWhatIsWrong(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		ctx := context.Background()
		queue := s.newQueue(t, "errors")
		newQueue := func(name string) error {
			_, err := s.client.CreateQueue(ctx, &cloudtaskspb.CreateQueueRequest{
				Parent: s.parent, Queue: &cloudtaskspb.Queue{Name: name}})
			return err
		}
		newTask := func(parent, name, url string) error {
			_, err := s.create(parent, httpTask(name, url, time.Hour))
			return err
		}
		s.refused(t, newQueue(queue), codes.AlreadyExists, 409, queue)
		s.refused(t, newQueue(s.parent+"/queues/under_score"), codes.InvalidArgument, 400, "under_score")
		s.refused(t, newTask(queue, "", "ftp://x"), codes.InvalidArgument, 400, "ftp://x")
		s.refused(t, newTask(s.parent+"/queues/none", "", "http://x"), codes.NotFound, 404, "queues/none")
		must(t, newTask(queue, queue+"/tasks/once", "http://x"))
		s.refused(t, newTask(queue, queue+"/tasks/once", "http://x"), codes.AlreadyExists, 409, "once")
	})
}

// (81, 94, 98)
func TestFailedTaskIsTriedAgainAndDropped(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *suite) {
		ctx := context.Background()
		name, to := s.parent+"/queues/retry", newTarget(t, 500)
		var config cloudtaskspb.RetryConfig
		config.MaxAttempts = 3
		_, err := s.client.CreateQueue(ctx, &cloudtaskspb.CreateQueueRequest{
			Parent: s.parent, Queue: &cloudtaskspb.Queue{Name: name, RetryConfig: &config}})
		must(t, err)
		task, err := s.create(name, httpTask("", to.URL, 0))
		must(t, err)
		waitUntil(t, "the task to be dropped", func() bool { return s.isGone(task.GetName()) })
		var counts []string
		for _, got := range to.arrived() {
			counts = append(counts, got.request.Header.Get("X-CloudTasks-TaskRetryCount"))
		}
		if !slices.Equal(counts, []string{"0", "1", "2"}) {
			t.Fatal(counts)
		}
	})
}

// (116): the body of an error is Google's, whatever the client makes of it.
func TestErrorBodyIsGoogles(t *testing.T) {
	answer, err := http.Get("http://" + address + "/v2/projects/p/locations/l/queues/none")
	must(t, err)
	defer answer.Body.Close()
	var body struct {
		Error struct {
			Code            int
			Message, Status string
		}
	}
	must(t, json.NewDecoder(answer.Body).Decode(&body))
	if answer.StatusCode != 404 || body.Error.Code != 404 || body.Error.Status != "NOT_FOUND" || body.Error.Message == "" {
		t.Fatal(answer.Status, body)
	}
}
