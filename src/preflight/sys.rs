//! The system calls that Rust's library has no safe function for.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

#[cfg(not(target_os = "android"))]
use libc::ITIMER_REAL;

use super::report::End;

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

// --- both sides ---

/// Tells once which of the descriptors can be read (or are at their end), within `timeout`; none if it passes or a signal
/// comes.
pub fn wait_readable<const N: usize>(files: [&File; N], timeout: Duration) -> io::Result<[bool; N]> {
    let mut asked = files.map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // rounded up, so that a wait is never a busy one
    let milliseconds = timeout.as_micros().div_ceil(1000).min(c_int::MAX as u128) as c_int;
    // SAFETY: the array is of that length.
    match check(unsafe { libc::poll(asked.as_mut_ptr(), N as libc::nfds_t, milliseconds) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        Err(_) => Ok([false; N]),
        Ok(_) => Ok(asked.map(|entry| entry.revents != 0)),
    }
}

/// A descriptor of our own, of 3 or more, that no other program gets.
pub fn duplicate_above(file: &impl AsRawFd) -> io::Result<OwnedFd> {
    // SAFETY: asks for a copy of a descriptor.
    let own = check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: made just now, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(own) })
}

/// Ends all processes of a group.
pub fn end_group(leader: i32) {
    // a 0 or 1 would be something else entirely
    if leader > 1 {
        // SAFETY: sends a signal and nothing else.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }
}

/// A signal's name, where it has one that people know.
pub fn signal_name(number: i32) -> &'static str {
    match number {
        libc::SIGSEGV => "SIGSEGV, a bad access to memory",
        libc::SIGBUS => "SIGBUS, memory that cannot be had",
        libc::SIGABRT => "SIGABRT, it gave up by itself",
        libc::SIGFPE => "SIGFPE, a division by zero or the like",
        libc::SIGILL => "SIGILL, no instruction of this processor",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGSYS => "SIGSYS, a forbidden system call",
        libc::SIGXCPU => "SIGXCPU, the limit of processor time",
        libc::SIGXFSZ => "SIGXFSZ, the limit of file sizes",
        libc::SIGKILL => "SIGKILL, ended from outside, as by a system that is out of memory",
        libc::SIGTERM => "SIGTERM, ended from outside",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        _ => "no name",
    }
}

// --- the host's side ---

/// An empty file without a name, in memory where the system has that.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn nameless_file() -> io::Result<File> {
    // SAFETY: the name is NUL-terminated, and only for people who look into /proc.
    let fd = check(unsafe { libc::memfd_create(c"zerobind-preflight".as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: made just now, and nobody else knows it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// An empty file that has lost its name before anything was written to it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn nameless_file() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    use std::sync::atomic::AtomicU64;

    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("zerobind-preflight-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// The bytes of memory that the machine has.
pub fn machine_memory() -> Option<u64> {
    // SAFETY: asks for a number.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    Some(u64::try_from(pages).ok()?.saturating_mul(u64::try_from(page).ok()?)).filter(|bytes| *bytes > 0)
}

// --- the helper's side: a process of one thread ---

/// Makes `from` a standard descriptor of this process.
pub fn make_standard(from: &impl AsRawFd, number: c_int) -> io::Result<()> {
    // SAFETY: Rust's own handles of the standard descriptors hold on to numbers, not to what is behind them.
    check(unsafe { libc::dup2(from.as_raw_fd(), number) }).map(|_| ())
}

/// Closes what the host did not keep from its children: no descriptor above 2 is in use yet.
pub fn close_others() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // SAFETY: closes descriptors that nobody here knows of.
        if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) } == 0 {
            return;
        }
    }
    // SAFETY: asks for a number.
    let most = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) }.clamp(256, 65536) as c_int;
    for fd in 3..most {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// What the host ignores or blocks is inherited, and would make a child or an engine behave oddly.
pub fn reset_signals() {
    // SAFETY: an all-zero set is a place to write to, and the handlers are the system's own. SIGSEGV and SIGBUS stay with
    // Rust's handler, which tells of an overflow of the stack.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        for number in (1..32).filter(|number| ![libc::SIGSEGV, libc::SIGBUS].contains(number)) {
            libc::signal(number, libc::SIG_DFL);
        }
    }
}

/// Whoever started this process takes it along when it ends.
pub fn end_with_parent() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: sets an attribute of this process.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    };
}

/// Processes that lose their parent become children of this one, so that none gets away.
pub fn adopt_orphans() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: sets an attribute of this process.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
    };
}

/// Two processes instead of one: `None` in the new one, its number in the old one.
pub fn split() -> io::Result<Option<i32>> {
    // SAFETY: the helper has one thread, so that no lock can be held by another.
    match check(unsafe { libc::fork() })? {
        0 => Ok(None),
        pid => Ok(Some(pid)),
    }
}

/// Makes a process (0: this one) the leader of a group of its own.
pub fn lead_group(pid: i32) {
    // SAFETY: sets an attribute of a process. It fails where the other of the two was first, and then it is done.
    unsafe { libc::setpgid(pid, pid) };
}

/// The most private memory, or address space where the system counts only that.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let resource = libc::RLIMIT_DATA;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let resource = libc::RLIMIT_AS;
    limit(resource, bytes)
}

pub fn limit_processor_time(seconds: u64) -> io::Result<()> {
    limit(libc::RLIMIT_CPU, seconds)
}

pub fn write_no_core() -> io::Result<()> {
    limit(libc::RLIMIT_CORE, 0)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
type Resource = c_int;

/// A limit, or a lower one that there is already.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place to write to.
    check(unsafe { libc::getrlimit(resource, &mut now) })?;
    let most = libc::rlim_t::try_from(most).unwrap_or(libc::RLIM_INFINITY).min(now.rlim_max);
    let new = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: reads the struct.
    check(unsafe { libc::setrlimit(resource, &new) }).map(|_| ())
}

/// As in the header of Linux; the crate `libc` has the function for Android and not the number.
#[cfg(target_os = "android")]
const ITIMER_REAL: c_int = 0;

static WATCHED: AtomicI32 = AtomicI32::new(0);
static TIME_IS_OVER: AtomicBool = AtomicBool::new(false);

extern "C" fn end_watched(_signal: c_int) {
    TIME_IS_OVER.store(true, Ordering::Relaxed);
    end_group(WATCHED.load(Ordering::Relaxed));
}

/// Ends the group of `leader` when `timeout` is over.
pub fn end_after(leader: i32, timeout: Duration) -> io::Result<()> {
    WATCHED.store(leader, Ordering::Relaxed);
    let handler: extern "C" fn(c_int) = end_watched;
    // SAFETY: the handler uses atomics and `kill`, which are allowed in it.
    unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
    let seconds = timeout.as_secs().min(i32::MAX as u64);
    // SAFETY: an all-zero value of that plain C struct asks for nothing.
    let mut when: libc::itimerval = unsafe { std::mem::zeroed() };
    when.it_value.tv_sec = seconds as _;
    when.it_value.tv_usec = timeout.subsec_micros() as _;
    if timeout < Duration::from_micros(1) {
        when.it_value.tv_usec = 1;
    }
    // SAFETY: reads the struct.
    check(unsafe { libc::setitimer(ITIMER_REAL as _, &when, std::ptr::null_mut()) }).map(|_| ())
}

/// Waits for the end of a child.
pub fn end_of(pid: i32) -> io::Result<End> {
    let mut status = 0;
    loop {
        // SAFETY: a place to write to.
        match check(unsafe { libc::waitpid(pid, &mut status, 0) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    Ok(match libc::WIFSIGNALED(status) {
        true if TIME_IS_OVER.load(Ordering::Relaxed) && libc::WTERMSIG(status) == libc::SIGKILL => End::Timeout,
        true => End::Signal(libc::WTERMSIG(status)),
        false => End::Exit(libc::WEXITSTATUS(status)),
    })
}

/// Buries children that are dead; tells whether others are left.
pub fn has_children_left() -> bool {
    loop {
        let mut status = 0;
        // SAFETY: a place to write to.
        match check(unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) }) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == io::ErrorKind::Interrupted,
        }
    }
}

/// Ends every child of this process.
pub fn end_children() {
    let own = std::process::id();
    let Ok(list) = std::fs::read_to_string(format!("/proc/self/task/{own}/children")) else { return };
    for pid in list.split_whitespace().filter_map(|word| word.parse::<i32>().ok()) {
        // SAFETY: sends a signal and nothing else; the child is not buried, so the number is still its own.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Sets a variable of the environment.
pub fn set_variable(name: &str, value: &str) {
    // SAFETY: the helper has one thread.
    unsafe { std::env::set_var(name, value) };
}

/// Ends the process at once: nothing that an engine has registered is run.
pub fn end(code: c_int) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}
