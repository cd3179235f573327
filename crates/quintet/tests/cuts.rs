//! Members of an isonet on machines whose network is cut: who is cut off is told that it has stopped, the others go on, and who comes back has what they have.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Cause, Error, Executed, Isonet, IsonetCause, Lab, LinkAddress, ServeConfig, Server};
use quintet_testbed::{Child, Lines, Machine, Plan, Program, TempDir, Testbed, argument, namespaces_refused};
use std::io::{Write, stderr, stdin};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);
/// Between two isochrons of a member.
const PAUSE: Duration = Duration::from_millis(5);
const MACHINES: [&str; 3] = ["a", "b", "c"];
/// Of a member, one at a time, so many isochrons of all may be under way: it may have executed these, and those who are left have not.
const UNDER_WAY: usize = MACHINES.len();
/// Between two cuts.
const ENTRIES: usize = 30;
/// In the environment of a process: who it proves to be.
const IDENTITY: &str = "QUINTET_IDENTITY";
/// Takes what a member has sent into the book.
const ENTER: u32 = 7;

/// All that a member was told, as a digest behind each entry: two books can be compared up to where one of them ends.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<Vec<u64>>>);

impl Book {
    fn enter(&self, sender: u16, bytes: &[u8]) {
        let mut digests = self.0.lock().unwrap();
        let before = digests.last().copied().unwrap_or(0xcbf2_9ce4_8422_2325);
        let entry = sender.to_le_bytes();
        let digest = entry.iter().chain(bytes);
        digests.push(
            digest.fold(before, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)),
        );
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().iter().flat_map(|digest| digest.to_le_bytes()).collect()
    }

    fn put(&self, bytes: &[u8]) {
        *self.0.lock().unwrap() = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    }

    /// So many entries, or all but so many, and the digest of these.
    fn look(&self, kept: impl Fn(usize) -> usize) -> String {
        let digests = self.0.lock().unwrap();
        let count = kept(digests.len());
        format!("{count} entries {:x}", digests[..count].last().copied().unwrap_or_default())
    }
}

/// Where it says, as who may be there.
fn address(text: &str) -> LinkAddress {
    let identity = std::env::var(IDENTITY).unwrap();
    quintet::identified(text.parse().unwrap(), &identity, &|_| None).unwrap()
}

/// What a process plays: `space ADDRESS`, or a member that will `join` or `rejoin`: which, where the space is, and where it listens.
fn play(argument: &str) -> ! {
    match argument.split(' ').collect::<Vec<_>>()[..] {
        ["space", at] => {
            let server = Server::start(address(at), &ServeConfig::default()).unwrap();
            println!("space at {}", server.addresses()[0]);
            loop {
                thread::park();
            }
        }
        [how, me, space, at] => be_member(how == "rejoin", me.parse().unwrap(), space, at),
        _ => panic!("{argument}"),
    }
    std::process::exit(0)
}

/// Enters numbers at all members until it is told to end, and says how that goes and what is in its book when it is asked.
fn be_member(comes_back: bool, me: u16, space: &str, at: &str) {
    let book = Book::default();
    let [entered, given, taken] = [(); 3].map(|()| book.clone());
    let take = move |bytes: &[u8]| {
        taken.put(bytes);
        Ok(())
    };
    let lab = Lab::connect(address(space), 0, LONG).unwrap();
    let builder = lab.isochrons("cut").member(me, MACHINES.len() as u16).limit(LONG).rejoinable();
    let builder = builder
        .listen_at(address(at))
        .handler(ENTER, move |message| entered.enter(message.sender, message.bytes))
        .state(move || Ok(given.bytes()), take)
        .on_view(|view| println!("members {:?} in {view}", view.members));
    let isonet = if comes_back { builder.rejoin().unwrap() } else { builder.join().unwrap() };
    println!("joined");
    let asked = hear_words();
    let (mut last, mut longest, mut view) = (Instant::now(), Duration::ZERO, isonet.view().view);
    for number in 0u64.. {
        match asked.try_recv().as_deref() {
            Ok("end") => break,
            Ok("all") => println!("book: {}", book.look(|all| all)),
            Ok(count) => println!("book: {}", book.look(|_| count.parse().unwrap())),
            Err(_) => {}
        }
        match enter(&isonet, number) {
            Ok(executed) => {
                let (now, place) = (Instant::now(), executed.place.stamp.view);
                // One that was under way may be completed as its view ends: the pause is in front of it then.
                longest = longest.max(now.duration_since(last));
                if core::mem::replace(&mut view, place) != place {
                    println!("went on after {} ms", longest.as_millis());
                    longest = Duration::ZERO;
                }
                last = now;
            }
            Err(error) => {
                println!("stopped with {} by {error}", book.look(|all| all.saturating_sub(UNDER_WAY)));
                loop {
                    thread::park();
                }
            }
        }
        thread::sleep(PAUSE);
    }
    isonet.close().unwrap();
    println!("closed with {}", book.look(|all| all));
}

/// What is said to this process, by lines.
fn hear_words() -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || stdin().lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
    told
}

/// In whatever view does it first.
fn enter(isonet: &Isonet, number: u64) -> Result<Executed, Error> {
    loop {
        let entered = isonet.isochron().and_then(|mut isochron| {
            isochron.send_all(ENTER, number.to_le_bytes().to_vec())?;
            isochron.execute()
        });
        match entered {
            Err(error) if error.cause() == &Cause::Isonet(IsonetCause::ViewChanged) => {}
            done => return done,
        }
    }
}

/// Members on machines of a network, and the space by which they find each other on one of its own.
struct Cluster {
    name: &'static str,
    room: TempDir,
    bed: Testbed,
    _space: Child,
    space: String,
    members: Vec<Child>,
}

impl Cluster {
    /// None: there can be no such network here, and why was printed.
    fn start(name: &'static str) -> Option<Cluster> {
        if let Some(why) = namespaces_refused() {
            // Not by a macro, whose words the tests' runner keeps to itself where a test passes.
            let told =
                writeln!(stderr(), "SKIPPED, members that are cut off: no network namespaces here: {why}");
            told.expect("standard error is open");
            return None;
        }
        let room = TempDir::new().unwrap();
        quintet_identity::create(&room.join("cluster"), "all").unwrap();
        let machines = MACHINES.iter().copied().chain(["space"]);
        let bed = Testbed::up(&Plan::unnamed(machines)).unwrap();
        let machine = bed.machine("space").unwrap();
        let argument = format!("space tls:{}:0", machine.address());
        let server = start(name, &argument, &room, &machine);
        let space = hear(&server, "space at ");
        let mut cluster = Cluster { name, room, bed, _space: server, space, members: Vec::new() };
        cluster.members = (0..MACHINES.len()).map(|me| cluster.begin("join", me)).collect();
        cluster.members.iter().for_each(|member| drop(hear(member, "joined")));
        Some(cluster)
    }

    fn begin(&self, how: &str, me: usize) -> Child {
        let machine = self.bed.machine(MACHINES[me]).unwrap();
        let argument = format!("{how} {me} {} tls:{}:0", self.space, machine.address());
        start(self.name, &argument, &self.room, &machine)
    }

    /// Some entries more.
    fn wait_until_each_has_entered(&mut self) {
        let count = |member: &mut Child| -> usize {
            member.say("all").unwrap();
            hear(member, "book: ").split_once(' ').unwrap().0.parse().unwrap()
        };
        for member in &mut self.members {
            let before = count(member);
            while count(member) < before + ENTRIES {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Cuts a member off and has another process come back in its place; how long the others waited, in milliseconds.
    fn cut_off(&mut self, lost: usize) -> Vec<u64> {
        self.wait_until_each_has_entered();
        let lines = Lines::of(MACHINES[lost]);
        self.bed.cut(&lines).unwrap();
        let others: Vec<usize> = (0..MACHINES.len()).filter(|member| *member != lost).collect();
        let mut waited = Vec::new();
        for other in &others {
            let view = hear(&self.members[*other], &format!("members {others:?} in view "));
            assert!(view.contains(&format!("without member {lost}, which ")), "{view}");
            let pause = hear(&self.members[*other], "went on after ");
            waited.push(pause.strip_suffix(" ms").unwrap().parse().unwrap());
        }
        let stopped = hear(&self.members[lost], "stopped with ");
        let (book, why) = stopped.split_once(" by ").unwrap();
        assert!(why.contains("1 of the 3 members of the view can be reached"), "{why}");
        // What it has executed is where the others' order begins, but for what was under way then.
        let count = book.split_once(' ').unwrap().0;
        for other in others {
            self.members[other].say(count).unwrap();
            assert_eq!(hear(&self.members[other], "book: "), book, "of member {lost} at member {other}");
        }
        self.bed.heal(&lines).unwrap();
        self.members[lost].kill().unwrap();
        self.members[lost] = self.begin("rejoin", lost);
        hear(&self.members[lost], "joined");
        waited
    }

    /// All end, with the same book.
    fn end(mut self) {
        self.members.iter_mut().for_each(|member| member.say("end").unwrap());
        let books: Vec<String> = self.members.iter().map(|member| hear(member, "closed with ")).collect();
        assert!(books.iter().all(|book| *book == books[0]), "{books:?}");
    }
}

/// A process on a machine, which plays what the argument says.
fn start(test: &str, argument: &str, room: &TempDir, machine: &Machine) -> Child {
    let program = Program::this_test(test, argument).unwrap().env(IDENTITY, room.join("cluster"));
    program.on(machine).unwrap().spawn().unwrap()
}

/// What comes behind these words.
fn hear(member: &Child, words: &str) -> String {
    member.output().wait_for(words, LONG).unwrap_or_else(|| panic!("{words}: {}", member.output().text()))
}

#[test]
fn who_is_cut_off_stops_and_the_others_go_on_until_it_is_back() {
    if let Some(argument) = argument() {
        play(&argument);
    }
    let name = "who_is_cut_off_stops_and_the_others_go_on_until_it_is_back";
    let Some(mut cluster) = Cluster::start(name) else { return };
    cluster.cut_off(2);
    cluster.cut_off(0);
    cluster.cut_off(0);
    cluster.end();
}

/// How often `make kill` cuts one off: `QUINTET_KILLS` times.
#[test]
#[ignore = "takes minutes: make kill"]
fn members_are_cut_off_again_and_again() {
    if let Some(argument) = argument() {
        play(&argument);
    }
    let Some(mut cluster) = Cluster::start("members_are_cut_off_again_and_again") else { return };
    let times = std::env::var("QUINTET_KILLS").map_or(20, |times| times.parse().expect("a number"));
    let mut waited: Vec<u64> = (0..times).flat_map(|time| cluster.cut_off(time % MACHINES.len())).collect();
    cluster.end();
    waited.sort_unstable();
    println!(
        "cut off {times} times: shortest {} ms, median {} ms, longest {} ms",
        waited[0],
        waited[waited.len() / 2],
        waited[waited.len() - 1]
    );
    let mut limits = core::iter::successors(Some(1), |limit| Some(limit * 2));
    let mut left = &waited[..];
    while let (Some(limit), false) = (limits.next(), left.is_empty()) {
        let within = left.partition_point(|waited| *waited < limit);
        if within > 0 {
            println!("  {:5} to {limit:5} ms: {within}", limit / 2);
        }
        left = &left[within..];
    }
}
