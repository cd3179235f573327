//! A machine with a token is let in, and a member's certificate is made anew.

use crate::codec::{Enrol, Enrolled};
use crate::keeper::{Asker, Keeper, Purpose};
use crate::log::on_one_line;
use crate::record::Peer;
use quintet_contract::{Identity, Kind, NodeId, OwnedFrame};
use quintet_errors::Code;
use quintet_identity::{Authority, Grants, MACHINE_DAYS, Validity, consume, identity_of, outstanding};
use quintet_launch::Grant;
use quintet_membership::{Answer, Reason, Request};
use quintet_stack::enrolment::{ENROL, ENROLLED, RENEW};
use quintet_wire::Decode;
use std::time::SystemTime;

/// The bits under which the view keeps what a member may ask of others.
const RUN: u8 = 1;
const CODE: u8 = 2;

/// A machine that is let in, while the members agree on that.
pub(crate) struct Joining {
    asker: Asker,
    certificate: String,
    authority: String,
    /// Its number, once it has one.
    node: Option<NodeId>,
}

/// Why a machine is not let in.
type Refused = (Code, String);

impl Keeper {
    /// A peer that has proved who it is asks for a certificate.
    pub(crate) fn take_enrolment(&mut self, kind: Kind, mut asker: Asker, proved: Identity, body: &[u8]) {
        let done = match (kind, Enrol::decode_all(body)) {
            (ENROL, Ok(enrol)) => {
                asker.name = Some(enrol.name.clone());
                self.enrol(&asker, proved, &enrol)
            }
            (RENEW, Ok(enrol)) => self.renew(&asker, proved, &enrol),
            _ => Err((Code::Malformed, "the request cannot be read".to_owned())),
        };
        if let Err((code, text)) = done {
            self.refuse(&asker, code, &text);
        }
    }

    /// Keeps a request until this machine knows which view is the latest.
    pub(crate) fn keep_early(&mut self, frame: &OwnedFrame, proved: Identity) {
        if self.early.keep(frame, proved) {
            return self.confirm();
        }
        let asker = Asker::of(frame);
        self.refuse(&asker, Code::Resource, "too many others wait to be answered: ask again later");
    }

    /// Refuses who asked while this machine did not know the latest view: it cannot learn it now.
    pub(crate) fn refuse_early(&mut self) {
        for frame in self.early.take() {
            let text = "no majority of the voters is heard, so that this machine does not know who is in now; try again when more machines are up";
            self.refuse(&Asker::of(&frame), Reason::NoMajority.code(), text);
        }
    }

    fn enrol(&mut self, asker: &Asker, proved: Identity, enrol: &Enrol) -> Result<(), Refused> {
        let (now, folder) = (SystemTime::now(), self.folder.clone());
        let refused = |error: quintet_identity::TokenError| (error.code(), error.to_string());
        // All that may be wrong is looked at before the token is used up.
        let allowed = outstanding(&folder, &proved.0, now).map_err(refused)?;
        if !allowed.join {
            return Err((Code::NotAllowed, "this token does not let a machine join".to_owned()));
        }
        check_version(&enrol.version)?;
        let (certificate, authority, identity) = self.certify(proved, &enrol.name, &enrol.request)?;
        if let Some(taken) = self.member_like(&enrol.name, identity) {
            let text = format!(
                "another machine is named {taken:?}: choose another name, or remove that one with quintet leave"
            );
            return Err((Code::DuplicateNode, text));
        }
        // What this machine has to write of it goes to the same disk.
        self.record.write(&self.folder).map_err(|error| {
            let text = format!(
                "the machine that lets others in cannot write: {error}; the token is as good as before"
            );
            (error.code(), text)
        })?;
        let grants = bits(consume(&folder, &proved.0, now).map_err(refused)?);
        let (name, address) = (enrol.name.clone(), enrol.address.clone());
        let request =
            Request::Join { cluster: self.cluster, name, identity, address, grants, ticket: enrol.ticket };
        let joining = Joining { asker: asker.clone(), certificate, authority, node: None };
        self.ask(Purpose::Join(Box::new(joining)), &request);
        Ok(())
    }

    /// A member's certificate is made anew, for the key that it has.
    fn renew(&mut self, asker: &Asker, proved: Identity, enrol: &Enrol) -> Result<(), Refused> {
        let mut members = self.view.members.iter();
        let Some((node, member)) = members.find(|(_, member)| member.identity == proved) else {
            return Err((Code::NotAllowed, "this machine is no member of the cluster".to_owned()));
        };
        let (node, name) = (*node, member.name.clone());
        let (certificate, authority, identity) = self.certify(proved, &name, &enrol.request)?;
        if identity != proved {
            return Err((Code::NotAllowed, "a certificate is made anew for the same key only".to_owned()));
        }
        self.answer(ENROLLED, asker.token, &Enrolled { node, certificate, authority, peers: Vec::new() });
        Ok(())
    }

    /// The certificate for a request, the authority's own, and whose the certificate is.
    fn certify(
        &self,
        asker: Identity,
        name: &str,
        request: &str,
    ) -> Result<(String, String, Identity), Refused> {
        let refused = |error: quintet_identity::IdentityError| (error.code(), error.to_string());
        let authority = Authority::of_folder(&self.folder).map_err(|error| {
            let text = format!(
                "this machine cannot sign certificates ({error}): ask the one where the cluster was made"
            );
            (error.code(), text)
        })?;
        let certificate =
            authority.sign(request, &asker.0, name, Validity::days(MACHINE_DAYS)).map_err(refused)?;
        let identity = Identity(identity_of(&certificate).map_err(refused)?);
        Ok((certificate, authority.certificate().to_owned(), identity))
    }

    /// The members have agreed on a machine that is let in, or not; or the view is there that it is in.
    pub(crate) fn finish_joining(&mut self, mut joining: Joining, answer: Answer) {
        match (answer, joining.node) {
            (Answer::Joined { node, .. }, _) => {
                joining.node = Some(node);
                // A majority knows of it; this member may be behind.
                self.ask(Purpose::Join(Box::new(joining)), &Request::View { agreed: true });
            }
            (Answer::Current(view, _), Some(node)) => {
                // From here on it is let in over TLS as well; what the view brings besides is carried out as always.
                self.see(*view);
                let peers = self.view.members.iter().filter(|(other, _)| **other < node);
                let peer = |(node, member): (&NodeId, &quintet_membership::Member)| Peer {
                    node: *node,
                    identity: member.identity,
                    address: member.address.clone(),
                };
                let (certificate, authority) = (joining.certificate, joining.authority);
                let enrolled = Enrolled { node, certificate, authority, peers: peers.map(peer).collect() };
                self.answer(ENROLLED, joining.asker.token, &enrolled);
            }
            (Answer::Error(refusal), _) => {
                let text = format!("{}; make another token, this one is used up", refusal.text);
                self.refuse(&joining.asker, refusal.reason.code(), &text);
            }
            _ => self.refuse(&joining.asker, Code::Malformed, "the members answered something else"),
        }
    }
}

/// Refuses a machine whose program is of another version, in words that say which to install where.
fn check_version(theirs: &str) -> Result<(), Refused> {
    let ours = env!("CARGO_PKG_VERSION");
    if theirs == ours {
        return Ok(());
    }
    let theirs = on_one_line(theirs);
    let text = format!(
        "this cluster runs quintet {ours}, that machine runs {theirs}: install the same version on all machines"
    );
    Err((Code::VersionMismatch, text))
}

/// What the view lets a member ask of launchers.
#[must_use]
pub fn granted(bits: u8) -> Grant {
    Grant { run: bits & RUN != 0, code: bits & CODE != 0 }
}

fn bits(grants: Grants) -> u8 {
    u8::from(grants.run) * RUN + u8::from(grants.code) * CODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_another_version_is_told_what_to_install() {
        assert_eq!(check_version(env!("CARGO_PKG_VERSION")), Ok(()));
        let (code, text) = check_version("0.0.7").expect_err("it is another");
        assert_eq!(code, Code::VersionMismatch);
        assert!(text.contains("runs 0.0.7") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    }
}
