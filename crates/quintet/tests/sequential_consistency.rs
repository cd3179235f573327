//! Small live isonets whose members read and write variables, one of them killed in the midst of it: what programs were told is searched for an order in which one memory could
//! have told it, each program's isochrons in their order. Nothing of what members witness is used for that. Histories that no one order explains are refused.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Cause, Error, Isonet, IsonetCause, Lab, PendingIsochron, ServeConfig, Server, Variable};
use quintet_linearizability::{Fault, Memory, Step, Told, check_within, in_program_order};
use quintet_testbed::{Child, Program, TempDir, argument};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const MEMBERS: u16 = 3;
/// Members 1 and 2 have the copies of the last one: member 0 reads it over a link.
const VARIABLES: u32 = 3;
/// Isochrons of a member, but for the one that is killed.
const EACH: u64 = 12;
/// Of a member, that are not waited for.
const UNDER_WAY: usize = 2;
/// A history has fewer: of each program one of so many isochrons is next, and each order of them leaves some values.
const MOST_STATES: usize = 200_000;

/// How a member's program goes.
#[derive(Clone, Copy)]
struct Plan {
    me: u16,
    seed: u64,
    isochrons: u64,
    /// It ends with isochrons under way.
    is_killed: bool,
}

impl Plan {
    /// Of each member, where one of them may be killed.
    fn of_all(seed: u64, killed: Option<u16>) -> [Plan; MEMBERS as usize] {
        [0, 1, 2].map(|me| {
            let is_killed = killed == Some(me);
            let isochrons = if is_killed { 2 + seed % (EACH - 2) } else { EACH };
            Plan { me, seed: seed * u64::from(MEMBERS) + u64::from(me) + 1, isochrons, is_killed }
        })
    }
}

/// Numbers that look drawn: splitmix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// `r1` reads variable 1, `w1=5` gives it the value 5.
fn draw_steps(draw: &mut Draw, value: u64) -> Vec<String> {
    let step = |_| {
        let variable = draw.below(VARIABLES.into());
        if draw.below(2) == 0 { format!("r{variable}") } else { format!("w{variable}={value}") }
    };
    (0..1 + value % 3).map(step).collect()
}

fn begin(isonet: &Isonet, steps: &[String]) -> Result<PendingIsochron, Error> {
    let mut isochron = isonet.isochron()?;
    for step in steps {
        match parse_step(step) {
            (variable, Some(value)) => isochron.write(variable, value.to_le_bytes().to_vec())?,
            (variable, None) => _ = isochron.read(variable)?,
        }
    }
    isochron.begin()
}

/// The variable, and what it is given.
fn parse_step(step: &str) -> (Variable, Option<u64>) {
    let (variable, value) = step[1..].split_once('=').unwrap_or((&step[1..], ""));
    (Variable(variable.parse().unwrap()), value.parse().ok())
}

/// What its isochron has come to, as a line: none if it may have been executed.
fn outcome(number: u64, pending: PendingIsochron) -> Option<String> {
    match pending.finish() {
        Ok(executed) => {
            let value = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()).to_string();
            let values = executed.values.iter().map(|read| read.as_deref().map_or("-".to_owned(), value));
            Some(format!("told {number}: {}", values.collect::<Vec<_>>().join(" ")))
        }
        // Nobody has executed it.
        Err(error) if error.cause() == &Cause::Isonet(IsonetCause::ViewChanged) => {
            Some(format!("refused {number}"))
        }
        Err(error) => panic!("nobody else is killed: {error}"),
    }
}

/// What a member's program does, which tells what it asks and what it is told, a line each.
fn play(plan: Plan, isonet: &Isonet, tell: impl Fn(String)) {
    let mut draw = Draw(plan.seed);
    let mut under_way = VecDeque::new();
    for number in 1..=plan.isochrons {
        // Each isochron's value is another one.
        let steps = draw_steps(&mut draw, number * u64::from(MEMBERS) + u64::from(plan.me));
        tell(format!("asks {number}: {}", steps.join(" ")));
        match begin(isonet, &steps) {
            Ok(pending) => under_way.push_back((number, pending)),
            Err(error) => panic!("it was not begun: {error}"),
        }
        if under_way.len() > UNDER_WAY {
            let (number, pending) = under_way.pop_front().unwrap();
            outcome(number, pending).into_iter().for_each(&tell);
        }
    }
    if !plan.is_killed {
        under_way.into_iter().filter_map(|(number, pending)| outcome(number, pending)).for_each(tell);
    }
}

fn join(lab: &Lab, me: u16) -> Isonet {
    let builder = lab.isochrons("test").member(me, MEMBERS).limit(LONG).silence_limit(LONG);
    let builder = builder.variable(Variable(0), 8).variable(Variable(1), 8);
    builder.variable_at(Variable(2), 8, &[1, 2]).join().unwrap()
}

/// An isochron as a program knows it.
#[derive(Default)]
struct Known {
    steps: Vec<String>,
    values: Option<Vec<Option<u64>>>,
    is_refused: bool,
}

/// By their numbers.
fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> BTreeMap<u64, Known> {
    let mut all: BTreeMap<u64, Known> = BTreeMap::new();
    for line in lines {
        let Some((what, rest)) = line.split_once(' ') else { continue };
        let (number, rest) = rest.split_once(':').unwrap_or((rest, ""));
        let Ok(number) = number.parse() else { continue };
        let words = rest.split_whitespace();
        let known = all.entry(number).or_default();
        match what {
            "asks" => known.steps = words.map(str::to_owned).collect(),
            "told" => known.values = Some(words.map(|word| word.parse().ok()).collect()),
            "refused" => known.is_refused = true,
            _ => panic!("{line}"),
        }
    }
    all
}

type Steps = Vec<Step<u32, u64>>;

/// What one isochron has done, as far as it is told. Nothing of what `judges_reads` leaves out.
fn steps(known: &Known, judges_reads: bool) -> Steps {
    let mut values = known.values.iter().flatten().copied();
    let step = |step: &String| match parse_step(step) {
        (Variable(variable), Some(value)) => Some(Step::Write(variable, value)),
        (Variable(variable), None) => {
            let value = values.next().flatten().filter(|_| judges_reads)?;
            Some(Step::Read(variable, value))
        }
    };
    known.steps.iter().filter_map(step).collect()
}

/// Looks for the order, for programs that have told this. With the member that keeps the pulse goes what it alone knew: what it has executed, and nobody else, may be refused to those
/// who are left, so that what it has read is not judged where it is killed (decision 59).
fn check(programs: &[Vec<String>], killed: Option<u16>) -> Result<(), Fault> {
    let mut history = Vec::new();
    for (program, lines) in (0..).zip(programs) {
        let judges_reads = killed != Some(0) || program != 0;
        let all = parse(lines.iter().map(String::as_str));
        for (number, known) in all.iter().filter(|(_, known)| !known.is_refused) {
            let answered = known.values.as_ref().map(|_| *number);
            history.push(Told { program, act: steps(known, judges_reads), answered });
        }
    }
    check_within(&Memory::default(), &in_program_order(history), MOST_STATES)
}

fn assert_one_memory(programs: &[Vec<String>], killed: Option<u16>) {
    if let Err(fault) = check(programs, killed) {
        let texts: Vec<String> = programs.iter().map(|lines| lines.join("\n")).collect();
        panic!("{fault}, where {killed:?} was killed:\n{}", texts.join("\n\n"));
    }
    let told = programs.iter().flatten().filter(|line| line.starts_with("told"));
    let least = usize::from(MEMBERS - 1) * usize::try_from(EACH).unwrap() / 2;
    assert!(told.count() > least, "most is executed, who is killed or not");
}

#[test]
fn what_members_are_told_one_memory_could_have_told_also_where_one_of_them_ends() {
    for seed in 0..24 {
        let killed = [None, Some(2), Some(1), Some(0)][usize::try_from(seed).unwrap() % 4];
        let lab = Lab::embedded();
        let said: Vec<Mutex<Vec<String>>> = (0..MEMBERS).map(|_| Mutex::default()).collect();
        thread::scope(|scope| {
            for (plan, said) in Plan::of_all(seed, killed).into_iter().zip(&said) {
                let lab = &lab;
                scope.spawn(move || {
                    let isonet = join(lab, plan.me);
                    play(plan, &isonet, |line| said.lock().unwrap().push(line));
                    match plan.is_killed {
                        true => drop(isonet),
                        false => isonet.close().unwrap(),
                    }
                });
            }
        });
        let said: Vec<Vec<String>> = said.into_iter().map(|said| said.into_inner().unwrap()).collect();
        assert_one_memory(&said, killed);
    }
}

/// What a process does whose plan it is: it is killed with what it has under way, or closes.
fn be_member(argument: &str) -> ! {
    let [space, me, seed, killed] = argument.split(' ').collect::<Vec<_>>()[..] else { panic!("{argument}") };
    let plan = Plan::of_all(seed.parse().unwrap(), killed.parse().ok())[me.parse::<usize>().unwrap()];
    let isonet = join(&Lab::connect(Path::new(space), 0, LONG).unwrap(), plan.me);
    play(plan, &isonet, |line| println!("{line}"));
    if plan.is_killed {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    }
    isonet.close().unwrap();
    println!("closed");
    std::process::exit(0)
}

#[test]
fn what_processes_are_told_one_memory_could_have_told_also_where_one_of_them_is_killed() {
    const NAME: &str = "what_processes_are_told_one_memory_could_have_told_also_where_one_of_them_is_killed";
    if let Some(argument) = argument() {
        be_member(&argument);
    }
    for seed in 0..6 {
        let dir = TempDir::new().unwrap();
        let space = dir.join("space");
        let _server = Server::start(&space, &ServeConfig::default()).unwrap();
        let killed = [2, 1, 0][usize::try_from(seed).unwrap() % 3];
        let argument = |me| format!("{} {me} {seed} {killed}", space.display());
        let program = |me| Program::this_test(NAME, argument(me)).unwrap().env("TMPDIR", dir.path());
        let mut members: Vec<Child> = (0..MEMBERS).map(|me| program(me).spawn().unwrap()).collect();
        for (me, member) in (0..).zip(&mut members) {
            let ended = member.wait(LONG).unwrap();
            assert_eq!(
                ended.is_some_and(|status| status.success()),
                me != killed,
                "{}",
                member.output().text()
            );
        }
        let said = members.iter().map(|member| {
            let lines = std::iter::from_fn(|| member.output().next_line(LONG));
            lines.filter(|line| ["asks ", "told ", "refused "].iter().any(|start| line.starts_with(start)))
        });
        assert_one_memory(&said.map(Iterator::collect).collect::<Vec<_>>(), Some(killed));
    }
}

/// What multiprocessors are known to tell that have a memory each and no order between them.
#[test]
fn what_no_one_memory_could_have_told_is_refused() {
    let history = |programs: &[&[&str]]| -> Vec<Vec<String>> {
        programs.iter().map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()).collect()
    };
    let store_buffer = |seen| {
        let told = format!("told 2: {seen}");
        let first = ["asks 1: w0=1", "told 1:", "asks 2: r1", "told 2: 0"];
        history(&[&first, &["asks 1: w1=1", "told 1:", "asks 2: r0", &told]])
    };
    let independent_reads = |seen| {
        let told = format!("told 2: {seen}");
        let writers: [&[&str]; 2] = [&["asks 1: w0=1", "told 1:"], &["asks 1: w1=1"]];
        let first = ["asks 1: r0", "told 1: 1", "asks 2: r1", "told 2: 0"];
        history(&[writers[0], writers[1], &first, &["asks 1: r1", "told 1: 1", "asks 2: r0", &told]])
    };
    for refused in [store_buffer(0), independent_reads(0)] {
        assert!(matches!(check(&refused, None), Err(Fault::NotLinearizable { .. })), "{refused:?}");
    }
    for right in [store_buffer(1), independent_reads(1)] {
        assert_eq!(check(&right, None), Ok(()), "{right:?}");
    }
    let torn = history(&[&["asks 1: w0=1 w1=1", "told 1:"], &["asks 1: r0 r1", "told 1: 1 0"]]);
    assert!(check(&torn, None).is_err(), "an isochron is executed at one instant");
    let of_nobody = history(&[&["asks 1: w0=1", "refused 1"], &["asks 1: r0", "told 1: 1"]]);
    assert!(check(&of_nobody, None).is_err(), "what is refused nobody has executed");
}
