//! The servers of a replicated space, and what each says that it does.

use quintet::{Replica, ReplicaRole};
use serde_json::{Value, json};

/// What it does, in words and as one word.
fn said(replica: &Replica) -> (String, &'static str) {
    match &replica.role {
        Ok(ReplicaRole::Leads) => ("leads".to_owned(), "leads"),
        Ok(ReplicaRole::Follows(leader)) => (format!("follows replica {leader}"), "follows"),
        Ok(ReplicaRole::KnowsNoLeader) => ("knows none that leads".to_owned(), "no leader"),
        Ok(ReplicaRole::HasNoLog) => {
            ("has no log of the space, and no vote until it has been sent it".to_owned(), "no log")
        }
        Err(error) => (error.to_string(), error.code().name()),
    }
}

pub(crate) fn as_json(replicas: &[Replica]) -> Value {
    let row = |replica: &Replica| {
        let (text, word) = said(replica);
        json!({"number": replica.number, "address": replica.address.to_string(), "role": word, "text": text})
    };
    replicas.iter().map(row).collect()
}

pub(crate) fn as_table(replicas: &[Replica]) -> String {
    let mut lines = vec![format!("{:<8} {:<28} does", "replica", "address")];
    for replica in replicas {
        lines.push(format!("{:<8} {:<28} {}", replica.number, replica.address, said(replica).0));
    }
    lines.join("\n")
}
