//! A machine's certificate is made anew, for the key that it has: by the authority's key where that lies on this machine, else by a member
//! that has it.

use crate::client::Client;
use crate::codec::Enrol;
use crate::joining::ask;
use crate::record::{Peer, Record};
use crate::{AgentError, address};
use core::fmt;
use core::time::Duration;
use quintet_contract::NodeId;
use quintet_identity::{Authority, DAY, Enrolling, IdentityError, Validity, validity, write_identity};
use quintet_link::{BootstrapError, Credentials, TlsFault};
use quintet_stack::enrolment::RENEW;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::SystemTime;

/// A certificate that was made anew.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Renewed {
    /// When it is valid.
    pub valid: Validity,
    /// The member that signed it; none where this machine did.
    pub by: Option<NodeId>,
}

impl fmt::Display for Renewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.valid.until.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO);
        let days = left.as_secs().div_ceil(DAY.as_secs());
        match self.by {
            Some(node) => {
                write!(f, "this machine's certificate was made anew by node {}, for {days} days", node.0)
            }
            None => write!(f, "this machine's certificate was made anew, for {days} days"),
        }
    }
}

/// When this machine's certificate is valid.
///
/// # Errors
/// [`AgentError::Identity`].
pub fn certificate(folder: &Path) -> Result<Validity, AgentError> {
    Ok(validity(&quintet_identity::read(folder)?)?)
}

/// When a certificate is to be made anew: a third of its time is left.
#[must_use]
pub fn renewal_time(valid: Validity) -> SystemTime {
    let whole = valid.until.duration_since(valid.from).unwrap_or(Duration::ZERO);
    valid.until.checked_sub(whole / 3).unwrap_or(valid.from)
}

/// Makes this machine's certificate anew, for the same key, and puts it into the folder. The founder is asked first, and a second later all
/// other members at once; each has some twenty seconds to answer.
///
/// # Errors
/// Nobody who was asked has signed it: why not, for each of them. Then the one that was there is there.
pub fn renew(folder: &Path) -> Result<Renewed, AgentError> {
    let record = Record::read(folder)?.ok_or_else(|| AgentError::NoMember(folder.to_owned()))?;
    let identity = quintet_identity::read(folder)?;
    let enrolling = Enrolling::renewing(&identity, &record.name)?;
    let (certificate, authority, by) = match Authority::of_folder(folder) {
        Ok(authority) => {
            let valid = Validity::days(quintet_identity::MACHINE_DAYS);
            let signed = authority.sign(&enrolling.request()?, &enrolling.asker(), &record.name, valid)?;
            (signed, authority.certificate().to_owned(), None)
        }
        Err(IdentityError::NotAnAuthority) => of_a_member(folder, &record, &identity, &enrolling)?,
        Err(error) => return Err(error.into()),
    };
    let renewed = enrolling.finish(&certificate, &authority)?;
    write_identity(folder, &renewed)?;
    Ok(Renewed { valid: validity(renewed.as_bytes())?, by })
}

/// Makes the certificate of a machine anew that has the authority's key, if it has ended: nobody else would let it in to have that done.
pub(crate) fn renew_if_over(folder: &Path) -> Result<(), AgentError> {
    let is_over = certificate(folder)?.until <= SystemTime::now();
    if is_over && Authority::of_folder(folder).is_ok() {
        renew(folder)?;
    }
    Ok(())
}

/// What the first member says that can sign: the certificate, the authority's, and which member that was.
fn of_a_member(
    folder: &Path,
    record: &Record,
    identity: &[u8],
    enrolling: &Enrolling,
) -> Result<(String, String, Option<NodeId>), AgentError> {
    let credentials =
        Credentials::from_pem(identity).map_err(|error| AgentError::Credentials(folder.to_owned(), error))?;
    let enrol = Enrol {
        name: record.name.clone(),
        address: String::new(),
        ticket: record.ticket,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: enrolling.request()?,
    };
    let (tell, answers) = channel();
    let asking = Asking { folder: folder.to_owned(), credentials, enrol: Arc::new(enrol), tell };
    // The founder has the lowest number, and the authority's key unless that was moved.
    let mut peers: Vec<&Peer> = record.peers.iter().collect();
    peers.sort_unstable_by_key(|peer| peer.node);
    let mut whys = Vec::new();
    let mut others = peers.into_iter();
    if let Some(founder) = others.next() {
        asking.ask(founder.clone());
        match answers.recv_timeout(HEAD_START) {
            Ok(Ok(signed)) => return Ok(signed),
            Ok(Err(why)) => whys.push(why),
            // It may answer yet, beside the others.
            Err(_) => {}
        }
    }
    others.for_each(|peer| asking.ask(peer.clone()));
    // The answers end with the last of those who were asked.
    drop(asking);
    for answer in answers {
        match answer {
            Ok(signed) => return Ok(signed),
            Err(why) => whys.push(why),
        }
    }
    Err(AgentError::NotRenewed { whys })
}

/// The certificate, the authority's, and which member has signed; or why that one has not.
type Signed = Result<(String, String, Option<NodeId>), String>;

/// What members are asked with.
struct Asking {
    folder: PathBuf,
    credentials: Credentials,
    enrol: Arc<Enrol>,
    tell: Sender<Signed>,
}

impl Asking {
    /// Asks a member, on a thread of its own: one that does not answer keeps nobody from asking the next.
    fn ask(&self, peer: Peer) {
        let (folder, credentials) = (self.folder.clone(), self.credentials.clone());
        let (enrol, tell) = (Arc::clone(&self.enrol), self.tell.clone());
        let thread = std::thread::Builder::new().name("quintet-asks-member".to_owned());
        let begun = thread.spawn(move || {
            let Peer { node, address: place, identity } = peer;
            let asked = address::of_member(&place, identity, &credentials, &folder)
                .and_then(|whom| Client::connect(whom, node, credentials.cluster_number()))
                .and_then(|client| ask(&client, RENEW, &enrol));
            let answer = asked
                .map(|enrolled| (enrolled.certificate, enrolled.authority, Some(node)))
                .map_err(|error| format!("node {} at {place}: {}", node.0, why_not(error)));
            // Where another one has signed meanwhile, nobody waits for this one.
            let _ = tell.send(answer);
        });
        if let Err(error) = begun {
            let _ = self.tell.send(Err(format!("start a thread that asks: {error}")));
        }
    }
}

/// A member that is let in no more has been removed.
fn why_not(error: AgentError) -> String {
    match error {
        AgentError::Link(BootstrapError::Tls { fault: TlsFault::NotAdmitted, .. }) => {
            "it does not let this machine in, which was removed from the cluster: type quintet leave --forget, and join anew".to_owned()
        }
        other => other.to_string(),
    }
}

/// Whether a certificate ends so soon that somebody should look after it.
#[must_use]
pub fn ends_soon(valid: Validity, now: SystemTime) -> Option<Duration> {
    let left = valid.until.duration_since(now).unwrap_or(Duration::ZERO);
    (left <= SOON).then_some(left)
}

/// How long the founder is asked alone, before all others are at once.
const HEAD_START: Duration = Duration::from_secs(1);

/// So long before its end a certificate that was not renewed is warned of.
const SOON: Duration = DAY.saturating_mul(14);

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_certificate_is_renewed_when_a_third_of_its_time_is_left_and_warned_of_two_weeks_before_its_end() {
        let at = |days: u32| UNIX_EPOCH + DAY * days;
        let valid = Validity { from: at(10), until: at(100) };
        assert_eq!(renewal_time(valid), at(70));
        assert_eq!(renewal_time(Validity { from: at(100), until: at(10) }), at(10), "it is over");
        assert_eq!(ends_soon(valid, at(85)), None);
        assert_eq!(ends_soon(valid, at(86)), Some(DAY * 14));
        assert_eq!(ends_soon(valid, at(101)), Some(Duration::ZERO));
    }
}
