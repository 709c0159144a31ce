// Runs what a file says in another root directory, as a container would, and then powers off.
//
//   enter FILE ROOT
//
// Each line of the file is a word and a value, in which \n and \\ stand for a line feed and a backslash:
//   arg VALUE      of the command, in order
//   env NAME=VALUE
//   user USER[:GROUP], names or numbers
//   cwd DIRECTORY, made if it is not there
//   signal NUMBER  that asks the command to end; the power button sends it
//   file MODE BYTES PATH, the mode octal and the bytes hexadecimal; written before the command runs
//
// The command has a PID namespace and a mount namespace of its own, so it does not see this process. That one tells the exit
// status, in memory that it shares with the machine: a file of a page, the BAR 2 of the one device of its kind.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { MOST = 4096, MOST_GROUPS = 256, NOT_STARTED = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

// With room for the variables that are added, and the end.
static char *args[MOST + 1], *envs[MOST + 4];
static int argCount, envCount;
static char *files[MOST];
static int fileCount;
static const char *user = "", *cwd = "/";
static int stopSignal = SIGTERM;
static volatile char *shared;
static volatile pid_t child;

static void report(int status) {
  char text[32];
  if (!shared) return;
  int length = snprintf(text, sizeof text, "exit %d\n", status);
  for (int i = 0; i < length; i++) shared[i] = text[i];
}

static void end(int status) {
  tcdrain(1);
  sync();
  umount2("/root", MNT_DETACH);
  sync();
  report(status);
  reboot(RB_POWER_OFF);
  pause();
}

static void say(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("platter: ", stderr);
  vfprintf(stderr, format, list);
  fputs("\n", stderr);
  va_end(list);
}

static void unescape(char *text) {
  char *to = text;
  for (const char *from = text; *from; from++) {
    if (*from == '\\' && from[1]) *to++ = *++from == 'n' ? '\n' : *from;
    else *to++ = *from;
  }
  *to = 0;
}

static int parse(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  char *line = NULL;
  size_t room = 0;
  for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
    if (line[n - 1] == '\n') line[n - 1] = 0;
    char *space = strchr(line, ' ');
    if (!space) continue;
    *space = 0;
    char *value = strdup(space + 1);
    unescape(value);
    if (!strcmp(line, "arg")) {
      if (argCount == MOST) return -1;
      args[argCount++] = value;
    } else if (!strcmp(line, "env")) {
      if (envCount == MOST) return -1;
      envs[envCount++] = value;
    } else if (!strcmp(line, "file")) {
      if (fileCount == MOST) return -1;
      files[fileCount++] = value;
    } else if (!strcmp(line, "user")) user = value;
    else if (!strcmp(line, "cwd")) cwd = value;
    else if (!strcmp(line, "signal")) stopSignal = atoi(value);
  }
  fclose(file);
  return 0;
}

static int openBelow(const char *device, const char *name, int flags) {
  char path[512];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", device, name);
  return open(path, flags | O_CLOEXEC);
}

static int isShared(const char *device) {
  char id[8] = "";
  int fd = openBelow(device, "device", O_RDONLY), good = fd >= 0 && read(fd, id, 6) == 6 && !strcmp(id, "0x1110");
  if (fd >= 0) close(fd);
  return good;
}

static void openShared(void) {
  DIR *devices = opendir("/sys/bus/pci/devices");
  if (!devices) return;
  for (struct dirent *entry; (entry = readdir(devices));) {
    if (!isShared(entry->d_name)) continue;
    int enable = openBelow(entry->d_name, "enable", O_WRONLY);
    if (enable >= 0) {
      (void)!write(enable, "1", 1);
      close(enable);
    }
    int fd = openBelow(entry->d_name, "resource2", O_RDWR);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) shared = at;
    if (fd >= 0) close(fd);
  }
  closedir(devices);
}

// Calls with each line of a file like /etc/passwd, split at its colons.
static void lines(const char *path, int count, void (*each)(char **, void *), void *with) {
  FILE *file = fopen(path, "re");
  if (!file) return;
  char *line = NULL;
  size_t room = 0;
  for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
    if (line[n - 1] == '\n') line[n - 1] = 0;
    char *rest = line, *fields[8] = {0};
    int found = 0;
    while (found < count && rest) fields[found++] = strsep(&rest, ":");
    if (found == count) each(fields, with);
  }
  free(line);
  fclose(file);
}

static int number(const char *text, unsigned *out) {
  char *stop;
  errno = 0;
  unsigned long value = strtoul(text, &stop, 10);
  if (!*text || *stop || errno || *text == '-' || value > 0xFFFFFFFEUL) return 0;
  *out = (unsigned)value;
  return 1;
}

struct person {
  const char *wanted;
  int found, numeric;
  unsigned uid, gid, wantedUid;
  char name[256], home[1024];
};

static void matchUser(char **f, void *with) {
  struct person *p = with;
  unsigned uid, gid;
  if (p->found || !number(f[2], &uid) || !number(f[3], &gid)) return;
  if (strcmp(f[0], p->wanted) && !(p->numeric && uid == p->wantedUid)) return;
  p->found = 1;
  p->uid = uid;
  p->gid = gid;
  snprintf(p->name, sizeof p->name, "%s", f[0]);
  snprintf(p->home, sizeof p->home, "%s", f[5]);
}

struct team {
  const char *wanted;
  int found;
  unsigned gid;
};

static void matchGroup(char **f, void *with) {
  struct team *g = with;
  if (!g->found && !strcmp(f[0], g->wanted)) g->found = number(f[2], &g->gid);
}

struct groups {
  const char *member;
  gid_t list[MOST_GROUPS];
  size_t count;
};

static void addGroup(char **f, void *with) {
  struct groups *g = with;
  unsigned gid;
  if (!number(f[2], &gid)) return;
  for (char *rest = f[3], *name; (name = strsep(&rest, ","));) {
    if (!strcmp(name, g->member) && g->count < MOST_GROUPS) g->list[g->count++] = gid;
  }
}

static int hasEnv(const char *name) {
  size_t length = strlen(name);
  for (int i = 0; i < envCount; i++) {
    if (!strncmp(envs[i], name, length) && envs[i][length] == '=') return 1;
  }
  return 0;
}

static void addEnv(const char *name, const char *value) {
  if (!hasEnv(name)) (void)!asprintf(&envs[envCount++], "%s=%s", name, value);
}

// As the image's own /etc/passwd and /etc/group say; this runs in its root.
static int become(void) {
  char *copy = strdup(*user ? user : "0"), *colon = strchr(copy, ':');
  if (colon) *colon = 0;
  struct person p = {.wanted = copy, .home = "/"};
  p.numeric = number(copy, &p.wantedUid);
  lines("/etc/passwd", 7, matchUser, &p);
  if (!p.found && !p.numeric) {
    say("the image has no user %s", copy);
    return -1;
  }
  if (!p.found) p.uid = p.wantedUid;
  struct groups groups = {.member = p.name};
  if (*p.name && !colon) lines("/etc/group", 4, addGroup, &groups);
  if (colon && !number(colon + 1, &p.gid)) {
    struct team g = {.wanted = colon + 1};
    lines("/etc/group", 4, matchGroup, &g);
    if (!g.found) {
      say("the image has no group %s", colon + 1);
      return -1;
    }
    p.gid = g.gid;
  }
  addEnv("HOME", *p.home ? p.home : "/");
  if (setgroups(groups.count, groups.list) || setgid(p.gid) || setuid(p.uid)) {
    say("cannot become user %s: %s", *user ? user : "0", strerror(errno));
    return -1;
  }
  return 0;
}

static void makeDirectories(const char *path) {
  char *copy = strdup(path);
  for (char *at = copy + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(copy, 0755);
    *at = '/';
  }
  mkdir(copy, 0755);
  free(copy);
}

// MODE BYTES PATH. In the image's root, so whatever its links are, they lead nowhere else.
static void writeFile(char *text) {
  char *bytes = strchr(text, ' '), *path = bytes ? strchr(bytes + 1, ' ') : NULL;
  if (!path) return;
  *bytes++ = 0;
  *path++ = 0;
  size_t length = strlen(bytes) / 2;
  for (size_t i = 0; i < length; i++) {
    char pair[3] = {bytes[2 * i], bytes[2 * i + 1], 0};
    bytes[i] = (char)strtoul(pair, NULL, 16);
  }
  char *slash = strrchr(path, '/');
  if (slash && slash != path) {
    *slash = 0;
    makeDirectories(path);
    *slash = '/';
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, bytes, length) != (ssize_t)length || fchmod(fd, strtoul(text, NULL, 8))) {
    say("cannot write %s: %s", path, strerror(errno));
    _exit(NOT_STARTED);
  }
  close(fd);
}

static void mountAt(const char *what, const char *where, const char *type, unsigned long flags, const char *options) {
  mkdir(where, 0755);
  if (mount(what, where, type, flags, options)) say("cannot mount %s: %s", where, strerror(errno));
}

// A file of ours in the place of the image's; not through a link, which may lead anywhere, but instead of it.
static void cover(const char *ours, const char *where) {
  struct stat there;
  if (access(ours, F_OK)) return;
  if (!lstat(where, &there) && S_ISLNK(there.st_mode)) unlink(where);
  int fd = open(where, O_CREAT | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return;
  close(fd);
  mount(ours, where, NULL, MS_BIND, NULL);
}

static void mounts(void) {
  unsigned long quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  mountAt("proc", "proc", "proc", quiet, NULL);
  mountAt("sysfs", "sys", "sysfs", quiet, NULL);
  mountAt("dev", "dev", "devtmpfs", MS_NOSUID, NULL);
  mountAt("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5");
  mountAt("shm", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  (void)!symlink("/proc/self/fd", "dev/fd");
  (void)!symlink("/proc/self/fd/0", "dev/stdin");
  (void)!symlink("/proc/self/fd/1", "dev/stdout");
  (void)!symlink("/proc/self/fd/2", "dev/stderr");
  mkdir("etc", 0755);
  cover("/tmp/hostname", "etc/hostname");
  cover("/tmp/hosts", "etc/hosts");
  cover("/tmp/resolv.conf", "etc/resolv.conf");
}

static void run(const char *root) {
  setsid();
  ioctl(0, TIOCSCTTY, 0);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  if (unshare(CLONE_NEWNS) || chdir(root)) _exit(NOT_STARTED);
  mounts();
  if (mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/")) {
    say("cannot enter the image: %s", strerror(errno));
    _exit(NOT_STARTED);
  }
  for (int i = 0; i < fileCount; i++) writeFile(files[i]);
  makeDirectories(cwd);
  addEnv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  addEnv("HOSTNAME", host);
  if (chdir(cwd)) {
    say("cannot change to the directory %s: %s", cwd, strerror(errno));
    _exit(NOT_STARTED);
  }
  if (become()) _exit(NOT_STARTED);
  for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  environ = envs;
  execvp(args[0], args);
  say("cannot run %s: %s", args[0], strerror(errno));
  _exit(errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE);
}

static void stop(int ignored) {
  (void)ignored;
  if (child > 0) kill(child, stopSignal);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  signal(SIGTERM, stop);
  openShared();
  if (parse(words[1])) {
    say("the command has more than %d words or variables", MOST);
    end(NOT_STARTED);
  }
  if (!argCount) {
    say("there is nothing to run");
    end(NOT_STARTED);
  }
  if (unshare(CLONE_NEWPID)) {
    say("cannot make namespaces: %s", strerror(errno));
    end(NOT_STARTED);
  }
  child = fork();
  if (child == 0) run(words[2]);
  int status = NOT_STARTED << 8;
  for (;;) {
    pid_t gone = wait(&status);
    if (gone == child) break;
    if (gone < 0 && errno != EINTR) {
      status = NOT_STARTED << 8;
      break;
    }
  }
  end(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
