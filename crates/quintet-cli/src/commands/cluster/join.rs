//! `quintet join`.

use super::refused;
use super::starting;
use super::up::Places;
use crate::commands::identity::environment;
use crate::commands::init::host_name;
use crate::connection::own_settings;
use crate::output::{print, print_json};
use crate::telemetry::TelemetryArguments;
use clap::Args;
use core::str::FromStr;
use quintet::{Code, Error, LinkConfig};
use quintet_agent::{Invitation, PORT, join};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "The token comes from `quintet init` or `quintet token create` on the machine that is named; it lets one machine in, once. With the identity that it gets, this machine's agent is started; the folder of the cluster is made at the same place as by `quintet init`.\n\nExamples:\n  quintet join lab@10.1.0.1 ae3f-...\n  quintet join lab@[fd00::1]:7400 ae3f-... --name b --listen 0.0.0.0:7500"
)]
pub(crate) struct Arguments {
    /// What to call the cluster here, and where the agent is that has made the token
    #[arg(value_name = "CLUSTER@HOST[:PORT]")]
    at: At,
    /// The token
    #[arg(value_name = "TOKEN")]
    token: String,
    /// What to call this machine; else its host name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The folder to make, instead of one below this user's configuration
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    places: Places,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    /// Do not start the agent: `quintet up` does
    #[arg(long)]
    no_up: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A cluster's name and the place of one of its agents.
#[derive(Clone, Debug)]
struct At {
    cluster: String,
    host: String,
    port: u16,
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<At, String> {
        let (cluster, place) =
            text.split_once('@').ok_or("write CLUSTER@HOST:PORT, lab@10.1.0.1:7400 for example")?;
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or("write [ADDRESS]:PORT")?)),
            None if place.matches(':').count() > 1 => {
                return Err("write an IPv6 address in brackets".to_owned());
            }
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(PORT), str::parse).map_err(|_| "the port is a number from 1 to 65535")?;
        if cluster.is_empty() || host.is_empty() || port == 0 {
            return Err("write CLUSTER@HOST:PORT, lab@10.1.0.1:7400 for example".to_owned());
        }
        Ok(At { cluster: cluster.to_owned(), host: host.to_owned(), port })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let At { cluster, host, port } = arguments.at.clone();
    let usual =
        quintet_identity::place(&cluster, &environment).map_err(crate::commands::identity::refused)?;
    let folder = arguments.dir.clone().unwrap_or(usual);
    let folder =
        std::path::absolute(folder).map_err(|error| Error::new(Code::BadValue, format!("--dir: {error}")))?;
    let invitation = Invitation {
        host,
        port,
        token: arguments.token.clone(),
        folder: folder.clone(),
        name: arguments.name.clone().unwrap_or_else(host_name),
        listen: arguments.places.listen.clone(),
        address: arguments.places.address.clone(),
        starts_agent: !arguments.no_up,
    };
    if !arguments.no_up {
        // What the agent would refuse is known before the token is used up, as whether its own port is free.
        let settings = own_settings()?;
        arguments.telemetry.look(&settings)?;
        LinkConfig::from_settings(&settings)?;
    }
    let joined = join(&invitation).map_err(refused)?;
    let (name, node) = (&invitation.name, joined.node.0);
    if !arguments.json {
        let path = folder.display();
        print(&format!("{path}: {name} is node {node} of the cluster, beside {} more\n", joined.members))?;
        if arguments.dir.is_none() {
            print(&format!(
                "this machine calls it {cluster}, whatever the others do: quintet up {cluster}, quintet://{cluster}\n"
            ))?;
        }
    }
    if !arguments.no_up {
        let named = arguments.dir.as_ref().map_or(cluster, |_| folder.display().to_string());
        let started = starting::start(&folder, &arguments.places, &arguments.telemetry);
        started.map_err(|error| joined_all_the_same(&error, &named))?.show(arguments.json)?;
    } else if arguments.json {
        print_json(&json!({"name": name, "node": node, "address": joined.address}))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The token is used up, and only the agent does not run: what is to be typed now is another command.
fn joined_all_the_same(error: &Error, cluster: &str) -> Error {
    let text = error.text();
    Error::new(
        error.code(),
        format!("{text}. This machine has joined all the same: quintet up {cluster} starts its agent"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_joined_and_cannot_start_its_agent_is_told_what_to_type_now() {
        let refused = Error::new(Code::Resource, "listen at 127.0.0.1:9464: Address already in use");
        let told = joined_all_the_same(&refused, "lab");
        assert_eq!(told.code(), Code::Resource);
        assert!(
            told.text().contains("127.0.0.1:9464")
                && told.text().contains("joined all the same: quintet up lab starts"),
            "{told}"
        );
    }

    #[test]
    fn a_place_is_read_or_refused_with_what_to_write() {
        let read = |text: &str| text.parse::<At>().map(|at| (at.cluster, at.host, at.port));
        let at = |host: &str, port| Ok(("lab".to_owned(), host.to_owned(), port));
        assert_eq!(read("lab@a"), at("a", PORT));
        assert_eq!(read("lab@a:1"), at("a", 1));
        assert_eq!(read("lab@[fd00::1]"), at("fd00::1", PORT));
        assert_eq!(read("lab@[fd00::1]:2"), at("fd00::1", 2));
        for bad in ["", "lab", "lab@", "@a", "lab@a:", "lab@a:0", "lab@a:x", "lab@fd00::1", "lab@[fd00::1]2"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
