//! A machine joins a cluster: it asks an agent for a certificate with the key of its token, and remembers what it was told.

use crate::address::{is_every_address, place};
use crate::client::{Client, random};
use crate::codec::{Enrol, Enrolled};
use crate::record::Record;
use crate::{AgentError, LISTEN};
use quintet_contract::{Kind, NodeId};
use quintet_errors::Code;
use quintet_identity::{Enrolling, Token, create_member};
use quintet_link::{BootstrapError, Credentials, LinkAddress, TlsFault};
use quintet_stack::enrolment::{ENROL, ENROLLED, NOT_ENROLLED, NotEnrolled};
use quintet_wire::Decode;
use std::net::{TcpListener, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};

/// With what a machine joins.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Where the agent is that has issued the token.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The token's text.
    pub token: String,
    /// The folder that is made.
    pub folder: PathBuf,
    /// What this machine is to be called.
    pub name: String,
    /// Where its agent will listen, `HOST:PORT`; else at [`LISTEN`].
    pub listen: Option<String>,
    /// Where others will reach that; else the address from which this machine reaches the agent, with the port of `listen`.
    pub address: Option<String>,
    /// Whether its agent is started next: then where that will listen must be free before the token is used.
    pub starts_agent: bool,
}

/// A machine that has joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Its number.
    pub node: NodeId,
    /// Where others will reach it.
    pub address: String,
    /// How many members there were before.
    pub members: usize,
}

/// Joins a cluster: makes the folder of a member. Its agent is started after that.
///
/// # Errors
/// The token is none, was used, or has expired; the agent is another cluster's; the folder is there; the name is taken; its own agent, if that is
/// started next, could not listen.
pub fn join(invitation: &Invitation) -> Result<Joined, AgentError> {
    let folder = &invitation.folder;
    if folder.symlink_metadata().is_ok() {
        return Err(there_already(folder));
    }
    let made = Made::above(folder);
    let joined = join_at(invitation);
    if joined.is_err() {
        made.remove();
    }
    joined
}

/// The folders that have to be made for a cluster's folder.
struct Made(Vec<PathBuf>);

impl Made {
    fn above(folder: &Path) -> Made {
        let above = folder.ancestors().skip(1);
        Made(above.take_while(|path| path.symlink_metadata().is_err()).map(Path::to_owned).collect())
    }

    /// Removes them again, as far as nothing else has come into them.
    fn remove(&self) {
        // The innermost is the first; where that stays, so do those above it.
        let _ = self.0.iter().try_for_each(std::fs::remove_dir);
    }
}

fn join_at(invitation: &Invitation) -> Result<Joined, AgentError> {
    let Invitation { host, port, folder, name, .. } = invitation;
    // The token is used up before there is anything to write: what can be known before is.
    quintet_identity::check_room(folder)?;
    let token: Token = invitation.token.parse().map_err(|error| {
        AgentError::BadValue(format!("this is no token: {error}; quintet token create makes one"))
    })?;
    let credentials = Credentials::of_token(token.key()?.as_bytes(), token.cluster())
        .map_err(|error| AgentError::Credentials("the token".into(), error))?;
    let listen = invitation.listen.clone().unwrap_or_else(|| LISTEN.to_owned());
    let address = match &invitation.address {
        Some(address) => address.clone(),
        None => own_place(host, *port, &listen)?,
    };
    let whom = LinkAddress::Tls { host: host.clone(), port: *port, credentials: Some(credentials) };
    let client = Client::connect(whom, NodeId(token.node()), token.cluster()).map_err(refused_token)?;
    let (enrolling, ticket) = (Enrolling::new(&token, name)?, random());
    let enrol = Enrol {
        name: name.clone(),
        address: address.clone(),
        ticket,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: enrolling.request()?,
    };
    if invitation.starts_agent {
        look_whether_free(&listen)?;
    }
    let Enrolled { node, certificate, authority, peers } = ask(&client, ENROL, &enrol)?;
    let members = peers.len();
    let record = Record {
        name: name.clone(),
        node,
        ticket,
        founding: false,
        listen,
        address: address.clone(),
        view: 0,
        life: 0,
        removed: false,
        peers,
        // The first view tells of them.
        spaces: Vec::new(),
    };
    let identity = enrolling.finish(&certificate, &authority)?;
    keep(folder, &authority, &identity, &record)
        .map_err(|error| AgentError::NotKept { name: name.clone(), error: Box::new(error) })?;
    Ok(Joined { node, address, members })
}

/// What is there already, and what to type.
fn there_already(folder: &Path) -> AgentError {
    let path = folder.display();
    AgentError::BadValue(match Record::read(folder) {
        Ok(Some(Record { name, removed: false, .. })) => format!(
            "{path} is there already: this machine belongs to that cluster as {name}; quintet up starts its agent, quintet leave takes it out. \
             To join another cluster, call it otherwise here: quintet join OTHER@HOST:PORT TOKEN"
        ),
        Ok(Some(Record { name, .. })) => format!(
            "{path} is there already: this machine was removed from that cluster as {name}; type quintet leave --forget, and join anew then"
        ),
        _ => format!(
            "{path} is there already, and is no member's folder; call the cluster otherwise here, or say --dir FOLDER, or move that away"
        ),
    })
}

/// Looks whether this machine's agent could listen there. The port is given back at once, for the agent.
fn look_whether_free(listen: &str) -> Result<(), AgentError> {
    let refused = |error| AgentError::NotListening { place: listen.to_owned(), error };
    TcpListener::bind(listen).map(drop).map_err(refused)
}

/// Whoever is not let in by a token is told by TLS alone, which says no more than that.
fn refused_token(error: AgentError) -> AgentError {
    match error {
        AgentError::Link(BootstrapError::Tls { address, fault: TlsFault::NotAdmitted }) => {
            AgentError::NotEnrolled {
                code: Code::NotAllowed,
                text: format!(
                    "{address} does not take the token: it was used, was revoked or has expired, it was made on another machine, or the clock there was set back; quintet token list \
                 there says which, quintet token create makes another one"
                ),
            }
        }
        other => other,
    }
}

/// Makes the member's folder, whole or not at all.
fn keep(folder: &Path, authority: &str, identity: &str, record: &Record) -> Result<(), AgentError> {
    create_member(folder, authority, identity)?;
    record.write(folder).inspect_err(|_| {
        // It was made here, a moment ago.
        let _ = std::fs::remove_dir_all(folder);
    })
}

/// Asks an agent for a certificate.
pub(crate) fn ask(client: &Client, kind: Kind, enrol: &Enrol) -> Result<Enrolled, AgentError> {
    let (kind, body) = client.ask(kind, enrol)?;
    let malformed = |_| AgentError::Malformed("what the agent has answered");
    match kind {
        ENROLLED => Enrolled::decode_all(&body).map_err(malformed),
        NOT_ENROLLED => {
            let NotEnrolled { code, text } = NotEnrolled::decode_all(&body).map_err(malformed)?;
            let code = Code::from_number(code).unwrap_or(Code::NotAllowed);
            Err(AgentError::NotEnrolled { code, text })
        }
        _ => Err(AgentError::Malformed("what the agent has answered")),
    }
}

/// Where others will reach this machine: where it listens, or, where that is every address, at the one from which packets to that agent leave.
/// Nothing is sent to learn it.
fn own_place(host: &str, port: u16, listen: &str) -> Result<String, AgentError> {
    if !is_every_address(listen) {
        return Ok(listen.to_owned());
    }
    let unknown = |error: std::io::Error| AgentError::System {
        doing: format!(
            "find the way to {host}: say where others reach this machine, with --address HOST:PORT"
        ),
        error,
    };
    let there = (host, port)
        .to_socket_addrs()
        .map_err(|error| {
            AgentError::BadValue(format!("{host} is not known here: {error}; write its address instead"))
        })?
        .next()
        .ok_or_else(|| AgentError::BadValue(format!("{host} has no address")))?;
    let any = if there.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).map_err(unknown)?;
    socket.connect(there).map_err(unknown)?;
    let own = socket.local_addr().map_err(unknown)?.ip().to_string();
    let (_, own_port) = listen.rsplit_once(':').ok_or_else(|| {
        AgentError::BadValue(format!("--listen {listen}: write HOST:PORT, {LISTEN} for example"))
    })?;
    own_port
        .parse()
        .map(|port| place(&own, port))
        .map_err(|_| AgentError::BadValue(format!("--listen {listen}: the port is a number from 1 to 65535")))
}
