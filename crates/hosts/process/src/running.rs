//! Which processes of jobs run on the machine, with what they use: those that this host has started, and those of jobs that commands of the
//! same user have begun. They are known by the variable of the environment that names their jobs ([`JOBS`]).

use crate::descendants::{JOBS, LONGEST_ENVIRONMENT};
use quintet_wire::services::process::{
    JOB_VARIABLE, MAX_COMMAND_BYTES, MAX_JOB_BYTES, RANK_VARIABLE, RunningProcess,
};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::getuid;
use std::collections::BTreeMap;
use std::fs::{File, read, read_dir, read_link, read_to_string};
use std::io::Read;
use std::os::unix::fs::MetadataExt;

/// What the system tells of a process, of `/proc/PID/stat` (proc(5)).
struct Stat {
    state: u8,
    group: u32,
    /// In ticks, with that of children that were waited for.
    cpu: u64,
    /// Ticks after the start of the machine.
    began: u64,
    pages: u64,
}

/// All of them, a row a process group, by their numbers in the system; none where the system does not tell. `number`: by which number a host knows
/// one, if it has started it. `host`: the name of its jobs; those that another host has started are left out, and what runs in another
/// network, which is another machine of a testbed. O(processes of the user).
pub fn running(host: Option<&str>, number: impl Fn(u32) -> Option<u64>) -> Vec<RunningProcess> {
    let (Ok(processes), Some(uptime)) = (read_dir("/proc"), uptime()) else { return Vec::new() };
    let user = getuid().as_raw();
    let own = processes.flatten().filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user));
    let mut pids: Vec<u32> = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The first of a group is its leader, as a rule: its number is that of the group.
    pids.sort_unstable();
    let mut groups: BTreeMap<u32, RunningProcess> = BTreeMap::new();
    for pid in pids {
        // One that has ended meanwhile is left out.
        let Some((stat, row)) = look(pid, host, uptime) else { continue };
        groups
            .entry(stat.group)
            .and_modify(|group| {
                group.count += 1;
                group.cpu += row.cpu;
                group.memory += row.memory;
            })
            .or_insert(row);
    }
    let mut rows: Vec<RunningProcess> = groups.into_values().collect();
    rows.sort_by_key(|row| row.pid);
    rows.iter_mut().for_each(|row| row.process = number(row.pid));
    rows
}

/// Whether the innermost of these jobs is one of this host's, or of a command's. (`host-number` names a host's.)
fn is_of(host: &str, jobs: &[u8]) -> bool {
    let innermost = jobs.rsplit(|byte| *byte == b':').next().unwrap_or_default();
    let of_host = innermost.iter().position(|byte| *byte == b'-').map(|end| &innermost[..end]);
    of_host.is_none_or(|of| of == host.as_bytes())
}

/// Whether a process is in the same network as this one; so, where the system does not tell.
fn is_in_own_network(pid: u32) -> bool {
    let network = |of: &str| read_link(format!("/proc/{of}/ns/net"));
    match (network("self"), network(&pid.to_string())) {
        (Ok(own), Ok(other)) => own == other,
        _ => true,
    }
}

/// A process, if it is of a job.
fn look(pid: u32, host: Option<&str>, uptime: u64) -> Option<(Stat, RunningProcess)> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(LONGEST_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    let jobs = variable(&environment, JOBS).filter(|jobs| !jobs.is_empty())?;
    if host.is_some_and(|host| !is_of(host, jobs) || !is_in_own_network(pid)) {
        return None;
    }
    let stat = stat(&read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    let job = variable(&environment, JOB_VARIABLE).filter(|job| !job.is_empty());
    // Of one that nobody has named, the innermost of those from which it descends.
    let job = job.or(jobs.rsplit(|byte| *byte == b':').next()).unwrap_or_default();
    let rank = variable(&environment, RANK_VARIABLE).and_then(|rank| str::from_utf8(rank).ok()?.parse().ok());
    let words = read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let row = RunningProcess {
        process: None,
        pid,
        count: 1,
        state: stat.state,
        age: nanoseconds(uptime.saturating_sub(stat.began)),
        cpu: nanoseconds(stat.cpu),
        memory: stat.pages.saturating_mul(page_size() as u64),
        rank,
        job: text(job, MAX_JOB_BYTES),
        command: text(&words, MAX_COMMAND_BYTES),
    };
    Some((stat, row))
}

/// The value of a variable in an environment as the kernel shows it.
fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Reads a line of `/proc/PID/stat`. The name, in brackets, may hold anything.
fn stat(line: &str) -> Option<Stat> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let state = *fields.first()?.as_bytes().first()?;
    let cpu = (11..=14).map(number).sum::<Option<u64>>()?;
    Some(Stat { state, group: u32::try_from(number(2)?).ok()?, cpu, began: number(19)?, pages: number(21)? })
}

/// How long the machine has been up, in ticks.
fn uptime() -> Option<u64> {
    let text = read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    let hundredths: u64 = hundredths.parse().ok()?;
    let ticks = clock_ticks_per_second();
    Some(seconds.parse::<u64>().ok()?.saturating_mul(ticks).saturating_add(hundredths * ticks / 100))
}

fn nanoseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1))
}

/// At most so many bytes of words with a zero byte behind each, as a person reads them: in one line, without what a terminal would obey.
fn text(words: &[u8], most: usize) -> String {
    let words = words.strip_suffix(b"\0").unwrap_or(words);
    let mut text = String::from_utf8_lossy(words).replace(|sign: char| sign.is_control(), " ");
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_system_is_read_whatever_the_process_calls_itself() {
        let line = "77 (a) R 1 (b) S 5 66 66 0 -1 4194560 1 0 0 0 10 20 3 4 20 0 1 0 12345 1000 250 18446744073709551615";
        let stat = stat(line).expect("it is whole");
        assert_eq!((stat.state, stat.group, stat.cpu, stat.began, stat.pages), (b'S', 66, 37, 12_345, 250));
        assert!(super::stat("77 (a) S 5").is_none() && super::stat("").is_none());
    }

    #[test]
    fn what_another_host_has_started_is_not_this_one_s() {
        assert!(is_of("ab", b"ab:ab-0123") && is_of("ab", b"cd") && is_of("ab", b"cd:ef"));
        assert!(!is_of("ab", b"cd:cd-0123") && !is_of("ab", b"ab:abc-0123"));
        assert!(is_in_own_network(std::process::id()));
    }

    #[test]
    fn words_are_one_line_that_no_terminal_obeys_and_are_cut_between_characters() {
        assert_eq!(text(b"python3\0-m\0a\nb\x1b[2J\0", 200), "python3 -m a b [2J");
        assert_eq!((text("ééé".as_bytes(), 3), text(b"", 3)), ("é".to_owned(), String::new()));
    }
}
