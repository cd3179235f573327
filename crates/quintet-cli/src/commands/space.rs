//! `quintet space`.

mod allowing;
mod kept;
mod replacing;

use super::cluster::machines::Machines;
use super::cluster::{place, refused};
use super::peek::connect;
use crate::activity::bytes;
use crate::connection::SpaceArguments;
use crate::output::{print, print_json};
use clap::{Args, Subcommand};
use kept::Cluster;
use quintet::{Code, Error, Identity, Policy, SpaceInfo, SpaceName, SpaceRights, SpaceSettings};
use quintet_agent::Record;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create a named space
    Create(CreateArguments),
    /// List the named spaces
    List(ListArguments),
    /// Show what a named space was made with, and how it is
    Show(NameArguments),
    /// Say which machines may use a space that a cluster's agents keep
    Allow(allowing::Arguments),
    /// Have another machine keep a space in the place of one, as where that is lost
    Move(MoveArguments),
    /// Remove a named space with its tuples
    Remove(RemoveArguments),
}

#[derive(Args)]
struct Which {
    #[command(flatten)]
    space: SpaceArguments,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(
    after_help = "A server keeps named spaces beside the one without a name, each with tuples, waiters and a quota of its own. A space that is there with the same settings is as good as a new one. A server keeps all its spaces in one way: with serve --policy logged or replicated their tuples outlive it, else they end with it.\n\nIn a cluster, spaces with the policy logged or replicated=N are kept by the agents of its machines (quintet up): logged on the disk of this one, replicated=3 on three machines, of which any two go on. Programs on all machines reach them at quintet://CLUSTER/NAME.\n\nNames: 1 to 63 letters, digits, '-', '_' and '.', the first of them a letter or digit. The quotas of a server's named spaces together stay below its setting spaces.max_bytes; those that a cluster's agents keep do not count there.\n\nExamples:\n  quintet space create orders --max-bytes 100000000\n  quintet space create orders --allow a,b\n  quintet space create orders --policy replicated=3\n  quintet space create orders --policy logged --space quintet://lab\n  quintet space create orders --space tcp:127.0.0.1:7400 --json"
)]
struct CreateArguments {
    /// What it is called
    #[arg(value_name = "NAME", value_parser = name)]
    name: SpaceName,
    /// Bytes that it holds; else 64 MiB
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    max_bytes: Option<u64>,
    /// Tuples that it holds; else 1,048,576
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tuples: Option<u64>,
    /// What holds its tuples: volatile, as the server keeps all its spaces; logged, a disk; replicated=3 or replicated=5, those of so many machines. A single server refuses what it does not do
    #[arg(long, value_name = "POLICY", default_value_t = Policy::Volatile)]
    policy: Policy,
    /// The machines of the cluster whose processes may use and remove it, with commas between; else all
    #[arg(long, value_name = "MACHINES", value_delimiter = ',')]
    allow: Vec<String>,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quintet space list\n  quintet space list --space quintet://lab --json")]
struct ListArguments {
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quintet space show orders\n  quintet space show orders --json")]
struct NameArguments {
    /// What it is called
    #[arg(value_name = "NAME", value_parser = name)]
    name: SpaceName,
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
#[command(
    after_help = "Who waits in it gets the error NoSuchSpace, as does who asks it later; of a space that a cluster's agents keep, an error of a lost connection (PeerDied) once link.resume_window_ms is over. A space of the same name that is made later is another one.\n\nExample:\n  quintet space remove orders"
)]
struct RemoveArguments {
    #[command(flatten)]
    of: NameArguments,
}

#[derive(Args)]
#[command(
    after_help = "Of a space that three or five machines of a cluster keep. The new machine gets the tuples from the others, of which all have to be up: they serve meanwhile, after a moment in which they elect who leads. What the old machine has on its disk is removed when its agent hears of it, and it can leave the cluster at once. One machine after the other: the next one is refused until this one has the tuples, which the command waits for (60 s; they go on after that). A space that was created with --allow is moved by machines that may use it.\n\nExample:\n  quintet space move orders --from c --to d"
)]
struct MoveArguments {
    #[command(flatten)]
    of: NameArguments,
    /// The machine that keeps it no more
    #[arg(long, value_name = "MACHINE")]
    from: String,
    /// The machine that keeps it from now on
    #[arg(long, value_name = "MACHINE")]
    to: String,
}

impl Arguments {
    fn which(&self) -> &Which {
        match &self.command {
            Command::Create(arguments) => &arguments.which,
            Command::List(arguments) => &arguments.which,
            Command::Show(arguments) => &arguments.which,
            Command::Allow(arguments) => &arguments.of.which,
            Command::Move(arguments) => &arguments.of.which,
            Command::Remove(arguments) => &arguments.of.which,
        }
    }

    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        self.which().json
    }
}

impl CreateArguments {
    fn settings(&self, allow: Option<SpaceRights>) -> SpaceSettings {
        let (max_bytes, max_tuples) = (self.max_bytes.unwrap_or(0), self.max_tuples.unwrap_or(0));
        SpaceSettings { policy: self.policy, max_bytes, max_tuples, allow }
    }
}

/// A name, or in words why it is none.
fn name(text: &str) -> Result<SpaceName, String> {
    text.parse().map_err(|error: quintet::SpaceNameError| error.to_string())
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    match arguments.command {
        Command::Create(create) => run_create(&create),
        Command::List(ListArguments { which }) => run_list(&which),
        Command::Show(NameArguments { name, which }) => show(&which, &name),
        Command::Allow(arguments) => allowing::run(&arguments),
        Command::Move(arguments) => run_move(&arguments),
        Command::Remove(RemoveArguments { of }) => run_remove(&of),
    }
}

fn run_create(create: &CreateArguments) -> Result<ExitCode, Error> {
    match cluster(&create.which)? {
        Some(cluster) if create.policy != Policy::Volatile => {
            cluster.create(create)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(cluster) if cluster.space(&create.name)?.is_some() => {
            let name = &create.name;
            let text = format!(
                "the cluster's machines keep a space {name} already, which quintet space show {name} shows"
            );
            return Err(Error::new(Code::SpaceExists, text));
        }
        _ => {}
    }
    let settings = create.settings(rights(create)?);
    let lab = connect(&create.which.space)?;
    lab.create_space(create.name.as_str(), &settings)?;
    show(&create.which, &create.name)
}

fn run_move(arguments: &MoveArguments) -> Result<ExitCode, Error> {
    let MoveArguments { of: NameArguments { name, which }, from, to } = arguments;
    match cluster(which)? {
        Some(cluster) if cluster.space(name)?.is_some() => {
            cluster.replace_replica(name, from, to)?;
            cluster.show(which, name)?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            let text = format!(
                "no machines of a cluster keep a space {name}: quintet space list shows which they keep"
            );
            Err(Error::new(Code::NoSuchSpace, text))
        }
    }
}

/// Who may use it, where that is said.
fn rights(create: &CreateArguments) -> Result<Option<SpaceRights>, Error> {
    if create.allow.is_empty() {
        return Ok(None);
    }
    rights_of(&create.which, "--allow", &create.allow, create.policy).map(Some)
}

/// The rights of the machines' programs that an option names, of a space of that policy.
fn rights_of(which: &Which, option: &str, wanted: &[String], policy: Policy) -> Result<SpaceRights, Error> {
    let Some(cluster) = cluster(which)? else {
        let text = format!(
            "{option} names machines of a cluster, and this one belongs to none: a space on one machine is for this user's processes"
        );
        return Err(Error::new(Code::BadValue, text));
    };
    let rights = which.space.kept_spaces(cluster.folder())?.rights_of(wanted, policy);
    rights.map_err(|error| Error::new(error.cause().clone(), format!("{option}, {}", error.text())))
}

/// The machines of the cluster that is meant, if one is.
fn machines(which: &Which) -> Result<Option<Machines>, Error> {
    let cluster = cluster(which)?;
    cluster.map(|cluster| Machines::ask(cluster.folder()).map_err(refused)).transpose()
}

/// The cluster whose spaces are meant, if it is one's.
fn cluster(which: &Which) -> Result<Option<Cluster>, Error> {
    let folder = match which.space.cluster_name()? {
        Some(name) => Some(place::folder(Some(&name))?),
        None if which.space.names_a_space()? => None,
        None => place::chosen(None)?,
    };
    Ok(folder.filter(|folder| folder.join(Record::FILE).is_file()).map(Cluster::new))
}

/// What the machines are called, where they can be asked.
fn names(which: &Which) -> BTreeMap<Identity, String> {
    machines(which).ok().flatten().map(|machines| machines.names().by_identity).unwrap_or_default()
}

fn run_list(which: &Which) -> Result<ExitCode, Error> {
    let cluster = cluster(which)?;
    let spaces = match connect(&which.space).and_then(|lab| lab.spaces()) {
        // What the machines keep needs nothing of the one that serves the others.
        Err(error) if cluster.is_some() && is_lost(&error) => Err(error),
        asked => Ok(asked?),
    };
    if which.json {
        let names = names(which);
        let kept = cluster.map_or_else(|| Ok(json!([])), |cluster| cluster.as_json())?;
        let (spaces, why) = match spaces {
            Ok(spaces) => (spaces.iter().map(|space| as_json(space, &names)).collect(), Value::Null),
            Err(error) => (Value::Null, error.to_string().into()),
        };
        print_json(&json!({"spaces": spaces, "unreachable": why, "kept": kept}))?;
    } else {
        let kept = cluster.map_or_else(|| Ok(String::new()), |cluster| cluster.as_table())?;
        let spaces = match spaces {
            Ok(spaces) => as_table(&spaces),
            Err(error) => format!("volatile spaces cannot be listed: {error}\n"),
        };
        print(&(spaces + &kept))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether nobody serves there.
fn is_lost(error: &Error) -> bool {
    matches!(error.code(), Code::Unreachable | Code::PeerDied | Code::PeerSilent)
}

fn show(which: &Which, name: &SpaceName) -> Result<ExitCode, Error> {
    if let Some(cluster) = kept_by(which, name)? {
        cluster.show(which, name)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lab = connect(&which.space)?;
    let spaces = lab.spaces()?;
    let Some(space) = spaces.iter().find(|space| space.name == *name) else {
        // The server names those that are there.
        lab.named_space(name.as_str())?;
        return Err(Error::new(Code::NoSuchSpace, format!("{name} was removed meanwhile")));
    };
    if which.json {
        print_json(&as_json(space, &names(which)))?;
    } else {
        print(&as_lines(space, &who(space, &names(which))))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The cluster whose machines keep it, if they do.
fn kept_by(which: &Which, name: &SpaceName) -> Result<Option<Cluster>, Error> {
    let Some(cluster) = cluster(which)? else { return Ok(None) };
    Ok(cluster.space(name)?.is_some().then_some(cluster))
}

fn run_remove(arguments: &NameArguments) -> Result<ExitCode, Error> {
    let NameArguments { name, which } = arguments;
    match kept_by(which, name)? {
        Some(cluster) => cluster.remove(arguments)?,
        None => connect(&which.space)?.remove_space(name.as_str())?,
    }
    if which.json {
        print_json(&json!({"removed": name.as_str()}))?;
    } else {
        print(&format!("{name} is removed\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Who may use it, in words.
fn who(space: &SpaceInfo, names: &BTreeMap<Identity, String>) -> String {
    let Some(rights) = &space.settings.allow else { return "everybody who may use the server".to_owned() };
    let hex =
        |identity: &Identity| identity.0[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let named = rights
        .identities
        .iter()
        .map(|identity| names.get(identity).cloned().unwrap_or_else(|| hex(identity)));
    let named: Vec<String> = named.collect();
    if named.is_empty() { "the server's own process".to_owned() } else { named.join(", ") }
}

fn counts(space: &SpaceInfo) -> [(&'static str, u64); 6] {
    [
        ("tuples", space.tuples),
        ("bytes", space.bytes),
        ("hidden", space.hidden),
        ("waiters", space.waiters),
        ("leases", space.leases),
        ("parked", space.parked),
    ]
}

pub(super) fn as_json(space: &SpaceInfo, names: &BTreeMap<Identity, String>) -> Value {
    let SpaceSettings { policy, max_bytes, max_tuples, allow } = &space.settings;
    let allow = allow.as_ref().map(|rights| {
        let hex =
            |identity: &Identity| identity.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let members = rights
            .identities
            .iter()
            .map(|identity| json!({"identity": hex(identity), "machine": names.get(identity)}));
        json!({"own_machine": rights.own_machine, "members": members.collect::<Vec<_>>()})
    });
    let mut object = json!({"name": space.name.as_str(), "policy": policy.to_string(), "max_bytes": max_bytes, "max_tuples": max_tuples, "allow": allow});
    counts(space).into_iter().for_each(|(name, count)| object[name] = count.into());
    object
}

pub(super) fn as_table(spaces: &[SpaceInfo]) -> String {
    let mut lines = vec![format!(
        "{:<24} {:<10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8}",
        "space", "policy", "tuples", "size", "quota", "waiters", "leases", "parked"
    )];
    for space in spaces {
        lines.push(format!(
            "{:<24} {:<10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8}",
            space.name.as_str(),
            space.settings.policy.to_string(),
            space.tuples,
            bytes(space.bytes),
            bytes(space.settings.max_bytes),
            space.waiters,
            space.leases,
            space.parked
        ));
    }
    lines.push(match spaces.len() {
        0 => "no named spaces: quintet space create NAME makes one".to_owned(),
        1 => "1 named space".to_owned(),
        count => format!("{count} named spaces"),
    });
    lines.join("\n") + "\n"
}

fn as_lines(space: &SpaceInfo, who: &str) -> String {
    let counted = counts(space).map(|(name, count)| format!("{name:<14} {count}\n"));
    settings_as_lines(space, who) + &counted.concat()
}

/// What it was made with.
fn settings_as_lines(space: &SpaceInfo, who: &str) -> String {
    let SpaceSettings { policy, max_bytes, max_tuples, .. } = &space.settings;
    let lines = [
        format!("{:<14} {}", "space", space.name),
        format!("{:<14} {policy}", "policy"),
        format!("{:<14} {max_bytes}", "max bytes"),
        format!("{:<14} {max_tuples}", "max tuples"),
        format!("{:<14} {who}", "for"),
    ];
    lines.join("\n") + "\n"
}
