//! `quintet run` inside an allocation of Slurm, with a program of the test's own for `srun`; `.ci/slurm` does the same with Slurm itself.

use crate::tool::{result, script, state, text, wait_until};
use quintet_testbed::{Child, Program, TempDir};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};

/// Starts a step's programs here, as `srun` does on the machines of an allocation, with its input for each of them.
const SRUN: &str = r#"
for word in "$@"; do case $word in --nodes=*) count=${word#*=};; --exclude=*) without=${word#*=};; esac; done
while [ "$1" != -- ]; do shift; done; shift
exec 3<&0
read -r line <&3
printf '%s\n' "$line" > "$SRUN_SAID"
step() { { printf '%s\n' "$line"; cat <&3; } | SLURM_PROCID=$1 SLURMD_NODENAME=$2 SLURM_STEP_ID=0 exec_step "$@"; }
exec_step() { shift 2; "$@"; }
rank=0 number=0
while [ $rank -lt "$count" ]; do
    number=$((number + 1))
    [ "n$number" = "$without" ] && continue
    step $rank n$number "$@" &
    rank=$((rank + 1))
done
wait"#;

/// An allocation of this test's own.
struct Allocation {
    room: TempDir,
    python: PathBuf,
    master: PathBuf,
}

impl Allocation {
    /// Workers say where they are and wait; the master is this.
    fn new(srun: &str, master: &str) -> Allocation {
        let room = TempDir::new().expect("a temporary directory");
        for folder in ["bin", "tmp"] {
            fs::create_dir(room.join(folder)).expect("made");
        }
        let made = script(&room, "srun", srun);
        fs::rename(made, room.join("bin/srun")).expect("moved");
        let worker = "echo rank $QUINTET_RANK in $PWD with $QUINTET_IDENTITY; setsid sleep 1000 & echo idle $!; exec sleep 1000";
        let python = script(&room, "python", worker);
        let master = script(&room, "master", master);
        Allocation { room, python, master }
    }

    fn run(&self, variables: &[(&str, &str)], options: &[&str]) -> Child {
        let path = format!("{}:{}", text(&self.room.join("bin")), std::env::var("PATH").unwrap_or_default());
        let program = Program::new(env!("CARGO_BIN_EXE_quintet")).arg("run").arg("-n").arg("4");
        let program = options.iter().fold(program, Program::arg).arg("--python").arg(&self.python);
        let program = program.arg(&self.master).env("PATH", path).env("TMPDIR", self.room.join("tmp"));
        let program = program.env("SRUN_SAID", self.room.join("said")).without("QUINTET_IDENTITY");
        let program = program.without("SLURM_STEP_ID").without("SLURMD_NODENAME");
        let program = program.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NUM_NODES", "2");
        variables
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value))
            .spawn()
            .expect("it starts")
    }

    /// What is left in the folder for all that is temporary.
    fn left(&self) -> usize {
        fs::read_dir(self.room.join("tmp")).expect("it is there").count()
    }

    /// The tokens that went through the input.
    fn tokens(&self) -> Vec<String> {
        let said: serde_json::Value =
            serde_json::from_slice(&fs::read(self.room.join("said")).expect("it was said"))
                .expect("an object");
        said["tokens"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|token| token.as_str().expect("a text").to_owned())
            .collect()
    }
}

/// The processes, by what `/proc` shows to others of them, whose arguments or environments contain these words.
fn shown(words: &[String]) -> Vec<PathBuf> {
    let files = fs::read_dir("/proc").expect("it is there").flatten().map(|entry| entry.path());
    let files = files.flat_map(|process| [process.join("cmdline"), process.join("environ")]);
    let contains = |file: &Path| {
        let content = fs::read(file).unwrap_or_default();
        words.iter().any(|word| content.windows(word.len()).any(|part| part == word.as_bytes()))
    };
    files.filter(|file| contains(file)).collect()
}

/// Returns when workers have said all of this, in any order.
fn say(job: &Child, words: &[&str]) {
    wait_until(|| {
        let said = job.output().text();
        words.iter().all(|word| said.contains(word))
    });
}

#[test]
fn a_job_runs_on_the_machines_of_its_allocation_and_nothing_is_left_there() {
    let allocation = Allocation::new(SRUN, "read line; exit 3");
    let mut job = allocation.run(&[], &[]);
    say(
        &job,
        &[
            "[worker 0 on n1] rank 0 in ",
            "[worker 1 on n2] rank 1 in ",
            "[worker 2 on n1] ",
            "[worker 3 on n2] ",
        ],
    );
    let tokens = allocation.tokens();
    assert!(tokens.len() == 2 && tokens.iter().all(|token| token.len() > 40), "{tokens:?}");
    let shown_tokens = shown(&tokens);
    assert!(shown_tokens.is_empty(), "others can read them: {shown_tokens:?}");
    let marker = [text(allocation.room.path()).to_owned()];
    assert!(!shown(&marker).is_empty(), "what is in environments is found");
    job.say("go on").expect("the master reads");
    let (code, said) = result(job);
    assert!(code == 3 && said.contains("on the machines of Slurm's allocation: n1, n2"), "{said}");
    wait_until(|| shown(&marker).is_empty() && allocation.left() == 0);
}

#[test]
fn a_command_that_is_killed_leaves_nothing_on_the_machines_of_its_allocation() {
    let allocation = Allocation::new(SRUN, "exec sleep 1000");
    let mut job = allocation.run(&[], &[]);
    say(&job, &["[worker 0 on n1]", "[worker 1 on n2]", "[worker 2 on n1]", "[worker 3 on n2]"]);
    job.kill().expect("killed");
    let marker = [text(allocation.room.path()).to_owned()];
    wait_until(|| shown(&marker).is_empty() && allocation.left() == 0);
}

#[test]
fn ctrl_z_stops_a_command_that_waits_for_the_machines_of_its_allocation() {
    let waits = format!("while [ ! -e \"$SRUN_SAID.go\" ]; do sleep 0.05; done\n{SRUN}");
    let allocation = Allocation::new(&waits, "exit 3");
    let job = allocation.run(&[], &[]);
    let process = Pid::from_raw(job.id().cast_signed()).expect("it runs");
    // Before that a signal is nobody's but the system's.
    wait_until(|| !shown(&[text(&allocation.room.join("bin/srun")).to_owned()]).is_empty());
    kill_process(process, Signal::TSTP).expect("it is there");
    wait_until(|| state(job.id()) == Some('T'));
    fs::write(allocation.room.join("said.go"), "").expect("written");
    kill_process(process, Signal::CONT).expect("it is there");
    let (code, said) = result(job);
    assert!(code == 3 && said.contains("on the machines of Slurm's allocation: n1, n2"), "{said}");
}

#[test]
fn the_script_of_an_allocation_runs_workers_on_its_own_machine_without_an_agent() {
    let allocation = Allocation::new(SRUN, "sleep 1; exit 3");
    let batch = [("SLURMD_NODENAME", "n1"), ("SLURM_STEP_ID", "4294967291")];
    let (code, said) = result(allocation.run(&batch, &[]));
    assert!(code == 3 && allocation.tokens().len() == 1, "{said}");
    assert!(said.contains("[worker 0] rank 0 in ") && said.contains("[worker 1 on n2] rank 1 in "), "{said}");
    assert_eq!(allocation.left(), 0);
}

#[test]
fn what_runs_elsewhere_is_not_slurms_and_what_srun_says_is_told() {
    let allocation = Allocation::new("echo 'srun: error: no such job' >&2; exit 1", "exit 3");
    // A step of an allocation, one machine alone, and who says that it is not to be.
    let step: &[(&str, &str)] = &[("SLURM_STEP_ID", "0")];
    for (variables, options) in [
        (step, &[][..]),
        (&[("SLURM_JOB_NUM_NODES", "1"), ("SLURMD_NODENAME", "n1")], &[]),
        (&[], &["--slurm", "never"]),
        (&[], &["--link", "unix"]),
    ] {
        let (code, said) = result(allocation.run(variables, options));
        assert!(code == 3 && !said.contains("Slurm"), "{variables:?} {options:?}: {said}");
    }
    let (code, said) = result(allocation.run(&[], &[]));
    let why = "0 of 2 machines of the allocation have joined before srun ended: srun: error: no such job";
    assert!(code == 69 && said.contains(why), "{code}: {said}");
    let (code, said) = result(allocation.run(step, &["--slurm", "always"]));
    assert!(code == 65 && said.contains("type salloc -N 2 first"), "{said}");
    let (code, said) = result(allocation.run(step, &["--file", "/etc/hostname"]));
    assert!(code == 65 && said.contains("--file is for workers on other machines"), "{said}");
    assert_eq!(allocation.left(), 0);
}
