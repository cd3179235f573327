//! Who a machine is: a cluster's certificate authority, the identities that it issues, the tokens with which machines join, and their files.
//!
//! ```text
//! ~/.config/quintet/NAME/       for this user only (0700)
//!   authority.pem               the certificate that every member of the cluster knows
//!   authority.key               what signs: stays on the machine where the cluster was made
//!   machine.identity            this machine's certificate, the authority's, and this machine's key
//!   tokens/                     what is known of the tokens that were made here
//! ```
//!
//! The folder of a member that has joined is without `authority.key` and `tokens`.
//!
//! An identity is one text, so that it can be carried to another machine as one file. Nothing here judges certificates: who uses
//! an identity does (`quintet_link::Credentials`), but for the few things of them that enrolment asks for.
//!
//! | file | holds |
//! | --- | --- |
//! | `authority.rs` | [`Authority`]: makes keys and certificates. Read this first |
//! | `token.rs` | [`Token`]: one text that lets one machine join; the key that both sides derive from it |
//! | `grants.rs` | [`Grants`]: what a token allows |
//! | `enrolment.rs` | [`Enrolling`]: a machine asks for a certificate of its own key; [`Authority::sign`] makes it |
//! | `certificate.rs` | what is read of certificates |
//! | `folder.rs` | [`create`], [`create_member`], [`issue`], [`read`], [`place`]: the files of an identity |
//! | `tokens.rs` | [`issue_token`], [`tokens()`], [`consume`], [`revoke_token`]: the files of tokens; [`TokenRecord`] |
//! | `token_error.rs` | [`TokenError`] |
//! | `agent_file.rs` | [`AgentFile`]: who is in a cluster, as this machine's agent has written it; where the cluster's space is |
//! | `error.rs` | [`IdentityError`] |
#![forbid(unsafe_code)]

mod agent_file;
mod authority;
mod certificate;
mod enrolment;
mod error;
mod folder;
mod grants;
mod token;
mod token_error;
mod tokens;

pub use agent_file::{
    AgentFile, AgentPeer, AgentSpace, kept_space_cluster, kept_space_port, space_port, space_socket,
};
pub use authority::{Authority, DAY, Validity};
pub use enrolment::{Enrolling, identity_of, validity};
pub use error::IdentityError;
pub use folder::{
    Issued, MACHINE_DAYS, agent_node, check_room, cluster_number, create, create_member, issue, only_cluster,
    place, read, remove, write_identity,
};
pub use grants::{Grants, GrantsError};
pub use token::{Token, TokenTextError};
pub use token_error::TokenError;
pub use tokens::{
    NewToken, TokenRecord, TokenState, consume, issue_token, outstanding, revoke_token, tokens,
};
