//! Who a machine is: a cluster's certificate authority, the identities that it issues, and their files.
//!
//! ```text
//! ~/.config/quintet/NAME/       for this user only (0700)
//!   authority.pem               the certificate that every member of the cluster knows
//!   authority.key               what signs: stays on the machine where the cluster was made
//!   machine.identity            this machine's certificate, the authority's, and this machine's key
//! ```
//!
//! An identity is one text, so that it can be carried to another machine as one file. Nothing here looks into certificates: who uses
//! an identity does (`quintet_link::Credentials`).
//!
//! | file | holds |
//! | --- | --- |
//! | `authority.rs` | [`Authority`]: makes keys and certificates. Read this first |
//! | `folder.rs` | [`create`], [`issue`], [`read`], [`place`]: the files |
//! | `error.rs` | [`IdentityError`] |
#![forbid(unsafe_code)]

mod authority;
mod error;
mod folder;

pub use authority::{Authority, DAY, Validity};
pub use error::IdentityError;
pub use folder::{Issued, create, issue, place, read};
