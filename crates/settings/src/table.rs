//! Every setting. A new one is added here and nowhere else.

use crate::setting::{Environment, Location, Number, Setting, Switch, Text, Unit};
use std::path::PathBuf;

macro_rules! settings {
    ($($(#[$doc:meta])* $id:ident: $kind:ident = { $($field:ident: $value:expr),* $(,)? };)*) => {
        $(
            $(#[$doc])*
            pub static $id: $kind = $kind { $($field: $value),* };
        )*
        /// Every setting, in the order of the documentation.
        pub static ALL: &[Setting] = &[$(Setting::$kind(&$id)),*];
    };
}

settings! {
    /// `cluster.name`
    CLUSTER_NAME: Text = {
        name: "cluster.name",
        default: "local",
        longest: 64,
        also: "",
        text: "What people call the cluster. It is part of the default socket's name.",
    };
    /// `cluster.id`
    CLUSTER_ID: Number = {
        name: "cluster.id",
        unit: Unit::Count,
        default: 0,
        range: 0..=i64::MAX as u64,
        text: "Tells clusters apart: peers with another number are refused. The same in every process of a cluster.",
    };
    /// `cluster.identity`
    CLUSTER_IDENTITY: Location = {
        name: "cluster.identity",
        default: no_place,
        default_text: "none",
        text: "What this machine proves itself with over tls: links: the name of a cluster that `quintet init` made, or the path, with a slash in it, of its folder or of a file that `quintet identity issue` wrote. Without one nothing is listened at or dialled over TLS. It has nothing to do with cluster.name; cluster.id must fit besides.",
    };
    /// `cluster.core_dumps`
    CLUSTER_CORE_DUMPS: Switch = {
        name: "cluster.core_dumps",
        default: false,
        text: "Whether the system may write core dumps of commands and agents that hold keys of a cluster, which stand in them; debuggers of the same user can attach to these only then, too. Read where such a command begins: from the environment and quintet.toml, not from --set.",
    };
    /// `space.address`
    SPACE_ADDRESS: Location = {
        name: "space.address",
        default: default_socket,
        default_text: "$XDG_RUNTIME_DIR/quintet/local.sock, or /tmp/quintet-UID/local.sock",
        text: "Where the space is: shm:PATH or unix:PATH, shared memory or a socket for processes of this user, tcp:HOST:PORT within a machine, or tls:HOST:PORT for the machines of a cluster (cluster.identity). quintet://NAME is the space of the cluster with that name, to which this machine belongs (quintet:///PATH: by the path of its folder): its machines know where that is, and cluster.id and cluster.identity do not count. A path alone is shared memory. Where it is not given, its name follows cluster.name.",
    };
    /// `space.max_bytes`
    SPACE_MAX_BYTES: Number = {
        name: "space.max_bytes",
        unit: Unit::Bytes,
        default: 1 << 30,
        range: 1..=1 << 50,
        text: "Bytes a space takes for tuples, those under a lease included, each with 160 bytes beside its own, and for indexes. At the limit an out waits; results of leased tuples have a quarter more.",
    };
    /// `space.max_tuples`
    SPACE_MAX_TUPLES: Number = {
        name: "space.max_tuples",
        unit: Unit::Count,
        default: 1 << 24,
        range: 1..=1 << 40,
        text: "Tuples a space holds, those under a lease included. At the limit an out waits; results of leased tuples have a quarter more.",
    };
    /// `space.max_attempts`
    SPACE_MAX_ATTEMPTS: Number = {
        name: "space.max_attempts",
        unit: Unit::Count,
        default: 5,
        range: 1..=u32::MAX as u64,
        text: "Leases of one tuple that may end without an acknowledgement; then it becomes a dead letter.",
    };
    /// `space.max_waiting`
    SPACE_MAX_WAITING: Number = {
        name: "space.max_waiting",
        unit: Unit::Count,
        default: 1 << 16,
        range: 1..=1 << 32,
        text: "Requests of one sender that may wait at one time, and answers that may wait for its link.",
    };
    /// `space.lease_ms`
    SPACE_LEASE_MS: Number = {
        name: "space.lease_ms",
        unit: Unit::Milliseconds,
        default: 10_000,
        range: 30..=86_400_000,
        text: "How long a leased take lives unless it is renewed. A live holder renews after each third of it.",
    };
    /// `spaces.max_count`
    SPACES_MAX_COUNT: Number = {
        name: "spaces.max_count",
        unit: Unit::Count,
        default: 256,
        range: 0..=1 << 16,
        text: "Named spaces that a server keeps at one time, beside the one without a name; 0: none can be created.",
    };
    /// `spaces.max_bytes`
    SPACES_MAX_BYTES: Number = {
        name: "spaces.max_bytes",
        unit: Unit::Bytes,
        default: 1 << 32,
        range: 1..=1 << 50,
        text: "The quotas of all named spaces of a server together (quintet space create --max-bytes). What one was promised no other takes.",
    };
    /// `link.window_frames`
    LINK_WINDOW_FRAMES: Number = {
        name: "link.window_frames",
        unit: Unit::Count,
        default: 256,
        range: 2..=1 << 20,
        text: "Frames that one peer may have under way to this process, one of them kept for what is urgent. What is begun beyond them waits at the peer, and goes on while that calls.",
    };
    /// `link.window_bytes`
    LINK_WINDOW_BYTES: Number = {
        name: "link.window_bytes",
        unit: Unit::Bytes,
        default: 1 << 20,
        range: 1 << 10..=1 << 30,
        text: "Bytes of those frames. One frame, large arrays apart, takes half of it at most.",
    };
    /// `link.spin_us`
    LINK_SPIN_US: Number = {
        name: "link.spin_us",
        unit: Unit::Microseconds,
        default: 8,
        range: 0..=1_000,
        text: "How long a wait for frames spins before it sleeps. Less than a wake-up takes makes both sides sleep at every wait.",
    };
    /// `link.two_packets`
    LINK_TWO_PACKETS: Switch = {
        name: "link.two_packets",
        default: false,
        text: "Whether each frame over a Unix socket, TCP or TLS is sent with two writes, its header first and then the rest. Slower on purpose: for `quintet reproduce linda-lan` and measurements like it.",
    };
    /// `link.keep_alive_ms`
    LINK_KEEP_ALIVE_MS: Number = {
        name: "link.keep_alive_ms",
        unit: Unit::Milliseconds,
        default: 1_000,
        range: 10..=3_600_000,
        text: "A server unheard for this long is asked for a sign of life, by a client that waits for it.",
    };
    /// `link.silence_limit_ms`
    LINK_SILENCE_LIMIT_MS: Number = {
        name: "link.silence_limit_ms",
        unit: Unit::Milliseconds,
        default: 10_000,
        range: 10..=86_400_000,
        text: "How long the server may leave that unanswered, and a client's first words; then the client gives it up, and all that waits for it fails; a link over a Unix socket, TCP or TLS it tries to make again before that, for link.resume_window_ms. Longer than any pause that a program shall survive.",
    };
    /// `link.resume_window_ms`
    LINK_RESUME_WINDOW_MS: Number = {
        name: "link.resume_window_ms",
        unit: Unit::Milliseconds,
        default: 10_000,
        range: 0..=86_400_000,
        text: "How long a link over a Unix socket, TCP or TLS that was cut is made again, with nothing lost; and how long any link to a logged or replicated space whose server ended, and a server waits for its clients (replicas for link.silence_limit_ms longer, in which clients miss a leader that was cut off); 0: not at all. A client that died is missed at once over a Unix socket, and over TCP or TLS for so long; its leases end in their own time then.",
    };
    /// `link.pack`
    LINK_PACK: Text = {
        name: "link.pack",
        default: "auto",
        longest: 16,
        also: "",
        text: "Whether large arrays and bytes are packed (LZ4) before they are put: `auto`, over TCP and TLS while the network is seen to be slower than packing; `always`; or `never`. The space keeps them packed, and whoever gets them unpacks them.",
    };
    /// `run.workers`
    RUN_WORKERS: Number = {
        name: "run.workers",
        unit: Unit::Count,
        default: 4,
        range: 1..=1_024,
        text: "Worker processes of `quintet run`.",
    };
    /// `run.kill_one`
    RUN_KILL_ONE: Switch = {
        name: "run.kill_one",
        default: false,
        text: "Whether `quintet run` kills one worker while it holds a task, to show that no task is lost.",
    };
    /// `log.filter`
    LOG_FILTER: Text = {
        name: "log.filter",
        default: "info",
        longest: 256,
        also: "=,:",
        text: "Which events `quintet serve`, `run` and `up` write to standard error: a level (off, error, warn, info, debug, trace), or several rules with commas between them, a rule TARGET=LEVEL for the events of a target: `info,quintet::link=debug`. docs/telemetry.md lists targets.",
    };
    /// `log.format`
    LOG_FORMAT: Text = {
        name: "log.format",
        default: "text",
        longest: 16,
        also: "",
        text: "How they write them: `text`, a line for people, or `json`, an object a line.",
    };
}

/// Short variables for settings that a job gives each of its processes: they win over the longer ones, so that what stands
/// in the environment of the job does not hide it. With the name of the setting.
pub static SHORT_VARIABLES: &[(&str, &str)] = &[
    ("QUINTET_SPACE", "space.address"),
    ("QUINTET_LEASE_MS", "space.lease_ms"),
    ("QUINTET_IDENTITY", "cluster.identity"),
    ("QUINTET_LOG", "log.filter"),
];

/// What is not set.
fn no_place(_: &Environment, _: u32) -> PathBuf {
    PathBuf::new()
}

/// In the user's runtime folder if there is one, which only that user can enter; else in one of their own below `/tmp`.
fn default_socket(environment: &Environment, user: u32) -> PathBuf {
    let runtime = environment.get("XDG_RUNTIME_DIR").filter(|path| path.starts_with('/'));
    let folder = match runtime {
        Some(path) => PathBuf::from(path).join("quintet"),
        None => PathBuf::from(format!("/tmp/quintet-{user}")),
    };
    folder.join("local.sock")
}
