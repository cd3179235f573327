//! Who may use a space that machines keep, said anew.

use super::{NameArguments, cluster, rights_of};
use clap::Args;
use quintet::{Code, Error, Identity, Policy};
use std::collections::BTreeSet;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Of a space that a cluster's agents keep and that was created with --allow. One that was created without is for all machines, and stays so; a volatile space keeps the rights that it was created with. Machines that may use the space change its rights and remove it; where none of them is left in the cluster, every machine may. At least one has to be left.\n\nA program of a machine that may use it no more gets the error NotAllowed, also where it waits already; leases that it holds end in their time.\n\nExamples:\n  quintet space allow orders --grant c\n  quintet space allow orders --grant c,d --revoke a"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) of: NameArguments,
    /// The machines whose processes may use it from now on, with commas between
    #[arg(long, value_name = "MACHINES", value_delimiter = ',', required_unless_present = "revoke")]
    grant: Vec<String>,
    /// The machines whose processes may use it no more, with commas between
    #[arg(long, value_name = "MACHINES", value_delimiter = ',')]
    revoke: Vec<String>,
}

/// Says who may use a space, and shows it.
///
/// # Errors
/// No machines of a cluster keep it, or as of [`KeptSpaces::allow`](quintet::KeptSpaces::allow).
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Arguments { of: NameArguments { name, which }, grant, revoke } = arguments;
    if let Some(both) = grant.iter().find(|machine| revoke.contains(machine)) {
        let text = format!("{both} is named by --grant and by --revoke: name it once");
        return Err(Error::new(Code::BadValue, text));
    }
    let named = |option: &str, machines: &[String]| -> Result<BTreeSet<Identity>, Error> {
        match machines {
            [] => Ok(BTreeSet::new()),
            machines => Ok(rights_of(which, option, machines, Policy::Logged)?.identities),
        }
    };
    let (granted, revoked) = (named("--grant", grant)?, named("--revoke", revoke)?);
    let Some(cluster) = cluster(which)? else { return Err(not_kept(arguments)) };
    if cluster.space(name)?.is_none() {
        return Err(not_kept(arguments));
    }
    which.space.kept_spaces(cluster.folder())?.allow(name, &granted, &revoked)?;
    cluster.show(which, name)?;
    Ok(ExitCode::SUCCESS)
}

fn not_kept(arguments: &Arguments) -> Error {
    let name = &arguments.of.name;
    let text = format!(
        "no machines of a cluster keep a space {name}: quintet space list shows which they keep; other spaces keep the rights that they were created with"
    );
    Error::new(Code::NoSuchSpace, text)
}
