//! The machine: processors, memory, clock, kernel, and whether processes can share memory.

use super::Finding;
use crate::bench::link::EchoLink;
use crate::pinning::allowed;
use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};
use std::fs;

const MIB: u64 = 1024 * 1024;
/// The least free shared memory that a large job does not soon fill.
const SHARED_MEMORY_BYTES: u64 = 256 * MIB;
/// Descriptors that a space with a hundred clients needs, and room beside.
const DESCRIPTORS: u64 = 1024;
/// Round trips of the self-test.
const TRIPS: u64 = 2_000;
/// The first kernel with every call that is used here.
const OLDEST_KERNEL: (u32, u32) = (5, 11);

pub(super) fn findings() -> Vec<Finding> {
    vec![processors(), kernel(), clock(), shared_memory_size(), descriptors(), locked_memory(), self_test()]
}

fn processors() -> Finding {
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    let allowed = allowed().map_or(there, |allowed| allowed.len());
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let value = format!("{allowed} usable, {there} by quota, online {}", online.trim());
    Finding::judge(
        allowed >= 2 && there >= 2,
        "processors",
        value,
        "with one processor, processes take turns: give it two",
    )
}

fn kernel() -> Finding {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let advice = format!("Linux {}.{} or newer is needed", OLDEST_KERNEL.0, OLDEST_KERNEL.1);
    Finding::judge(version >= OLDEST_KERNEL, "kernel", release.to_owned(), &advice)
}

fn clock() -> Finding {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match fs::read_to_string(path) {
        Err(_) => Finding::warn("clock", "not told", "sysfs is not mounted, so the clock source is unknown"),
        Ok(source) => {
            let fast = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];
            let source = source.trim().to_owned();
            let advice = "reading this clock is slow; boot with clocksource=tsc if the processor's is stable";
            Finding::judge(fast.contains(&source.as_str()), "clock", source, advice)
        }
    }
}

fn shared_memory_size() -> Finding {
    match statvfs("/dev/shm") {
        Err(errno) => Finding::warn("/dev/shm", errno.to_string(), "mount a tmpfs at /dev/shm"),
        Ok(volume) => {
            let (size, free) = (volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize);
            let value = format!("{}, {} free", in_words(size), in_words(free));
            let advice = "Quintet's own links do not use it, other programs do: mount -o remount,size=1G /dev/shm, or --shm-size of a container";
            Finding::judge(free >= SHARED_MEMORY_BYTES, "/dev/shm", value, advice)
        }
    }
}

fn in_words(bytes: u64) -> String {
    if bytes < MIB { format!("{} KiB", bytes / 1024) } else { format!("{} MiB", bytes / MIB) }
}

fn descriptors() -> Finding {
    // `run` and `serve` raise their limit to it themselves.
    let limit = getrlimit(Resource::Nofile).maximum;
    let enough = limit.is_none_or(|limit| limit >= DESCRIPTORS);
    let advice = "each client takes a few descriptors: raise the hard limit (ulimit -Hn)";
    Finding::judge(
        enough,
        "descriptors",
        limit.map_or("no limit".to_owned(), |limit| limit.to_string()),
        advice,
    )
}

fn locked_memory() -> Finding {
    // Nothing that runs today locks memory: the value is told, not judged.
    let limit = getrlimit(Resource::Memlock).current;
    Finding::well(
        "locked memory",
        limit.map_or("no limit".to_owned(), |limit| format!("{} KiB", limit / 1024)),
    )
}

/// Shares memory with a child process, as a client does, and measures it.
fn self_test() -> Finding {
    let measured = EchoLink::start(None).and_then(|mut link| link.round(TRIPS));
    match measured {
        Ok(nanoseconds) => Finding::well(
            "shared memory",
            format!("sealed memfd works; 64 B there and back in {nanoseconds:.0} ns (median, not pinned)"),
        ),
        Err(error) => Finding::warn(
            "shared memory",
            error.to_string(),
            "only embedded spaces work here; a sandbox may forbid memfd_create or Unix sockets",
        ),
    }
}
