//! What the process used.

/// Processor time of the whole process so far, in nanoseconds.
pub fn cpu_ns() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one rusage to the place it is given.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |t: libc::timeval| t.tv_sec * 1_000_000_000 + t.tv_usec * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// The most memory that the process had resident, in bytes, or zero where it cannot be known. It is read from the
/// process's status, since what getrusage says includes the parent's until the program was loaded.
pub fn peak_rss() -> i64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return 0;
    };
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|kb| kb.trim().parse::<i64>().ok())
        .map_or(0, |kb| kb * 1024)
}
