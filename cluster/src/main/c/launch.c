// The launcher: the one process in the container of a VM's pod. It runs for as long as its VM does.
//
//   launch [SOCKET]
//
// It asks the node's daemon, through the socket that this pod alone has, to start the VM, shows the console, hands a SIGTERM on as
// a shutdown of the guest, and exits as the VM does.
//
// The daemon may be away for a while, as when it is updated: the VM goes on, and so does this, until the daemon is back. Nothing of
// the console is lost or shown twice.
//
// Frames are those of Frame.java: a byte that says what it is, four with the length, at most MOST, and that many bytes. There is one
// buffer, which holds the longest; whatever else comes is taken for a daemon that went away.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum kind { START = 1, CONTINUE, STOP, CONSOLE, NOTE, EXIT };
enum { HEADER = 5, MOST = 64 << 10, AT_ONCE = 4096, FIRST_PAUSE = 20, LONGEST_PAUSE = 1000, FAILED = 1 };

static volatile sig_atomic_t asked; // to stop
static sigset_t through; // no signal is held while this waits
static int wire = -1; // to the daemon
static int started, told; // whether a daemon has taken the VM on; whether this one knows that it is to stop
static uint64_t shown;

static void ask(int number) {
  asked = number;
}

static int sendAll(const void *bytes, size_t length) {
  for (const char *at = bytes; length > 0;) {
    ssize_t n = send(wire, at, length, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return -1;
    if (n > 0) at += n, length -= n;
  }
  return 0;
}

// A frame whose body is a number, or empty.
static int tell(enum kind kind, uint64_t number, uint32_t length) {
  unsigned char frame[HEADER + 8] = {kind, 0, 0, 0, length};
  for (uint32_t i = 0; i < length; i++) frame[HEADER + i] = number >> 8 * (length - 1 - i);
  return sendAll(frame, HEADER + length);
}

// A VM that nobody has taken on needs no goodbye.
static void handOn(void) {
  if (!asked || told) return;
  if (!started) _exit(128 + asked);
  if (wire >= 0) told = !tell(STOP, 0, 0);
}

// The only place in which signals come through, also if there is no need to wait. Whether the descriptor is ready.
static int await(int fd, short what, int millis) {
  struct pollfd one = {.fd = fd, .events = what};
  struct timespec most = {millis / 1000, millis % 1000 * 1000000L};
  int ready = ppoll(&one, 1, millis < 0 ? NULL : &most, &through) > 0;
  sigset_t held;
  sigprocmask(SIG_SETMASK, &through, &held);
  sigprocmask(SIG_SETMASK, &held, NULL);
  handOn();
  return ready;
}

// 0 when all of it is there, else -1: the other side has ended.
static int fill(unsigned char *bytes, size_t length) {
  while (length > 0) {
    if (!await(wire, POLLIN, -1)) continue;
    ssize_t n = recv(wire, bytes, length, MSG_DONTWAIT);
    if (n == 0) return -1;
    if (n > 0) bytes += n, length -= n;
    else if (errno != EAGAIN && errno != EINTR) return -1;
  }
  return 0;
}

// So little that a pipe which takes any takes all: who reads the log slowly does not keep a SIGTERM from being handed on.
static int show(const unsigned char *bytes, size_t length) {
  while (length > 0) {
    if (!await(STDOUT_FILENO, POLLOUT, -1)) continue;
    ssize_t n = write(STDOUT_FILENO, bytes, length < AT_ONCE ? length : AT_ONCE);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return -1;
    if (n > 0) bytes += n, length -= n;
  }
  return 0;
}

static int note(const unsigned char *text, size_t length) {
  static const unsigned char before[] = "platter: ", after[] = "\n";
  return show(before, sizeof before - 1) || show(text, length) || show(after, 1) ? -1 : 0;
}

static uint32_t number(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

// Until the daemon goes away.
static void follow(void) {
  static unsigned char body[MOST];
  unsigned char header[HEADER];
  while (!fill(header, HEADER)) {
    uint32_t length = number(header + 1);
    if (header[0] < START || header[0] > EXIT || length > MOST || fill(body, length)) return;
    started = 1; // Whoever says something has taken the VM on: from now on it must not be started anew.
    handOn();
    switch ((enum kind)header[0]) {
      case CONSOLE:
        if (show(body, length)) return;
        shown += length;
        break;
      case NOTE:
        if (note(body, length)) return;
        break;
      case EXIT:
        if (length < 4) return;
        if (length > 4) (void)note(body + 4, length - 4);
        _exit(number(body) & 0xff);
      case START:
      case CONTINUE:
      case STOP:
        _exit(FAILED);
    }
  }
}

static int reach(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    fprintf(stderr, "platter: the path of the socket is too long: %s\n", path);
    _exit(2);
  }
  strcpy(address.sun_path, path);
  wire = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (wire < 0 || connect(wire, (struct sockaddr *)&address, sizeof address)) return -1;
  return started ? tell(CONTINUE, shown, 8) : tell(START, 0, 0);
}

int main(int count, char **words) {
  static const int handed[] = {SIGTERM, SIGINT, SIGHUP};
  struct sigaction action = {.sa_handler = ask};
  sigset_t held;
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof handed / sizeof *handed; i++) {
    sigaction(handed[i], &action, NULL);
    sigaddset(&held, handed[i]);
  }
  sigprocmask(SIG_BLOCK, &held, &through);
  signal(SIGPIPE, SIG_IGN);
  for (int pause = FIRST_PAUSE;; pause = 2 * pause < LONGEST_PAUSE ? 2 * pause : LONGEST_PAUSE) {
    uint64_t before = shown;
    told = 0;
    if (!reach(count > 1 ? words[1] : "/platter/vm.sock")) {
      handOn();
      follow();
    }
    if (wire >= 0) close(wire);
    wire = -1;
    if (shown > before) pause = FIRST_PAUSE; // It was of use; one that is not must not be asked all the time.
    await(-1, 0, pause);
  }
}
