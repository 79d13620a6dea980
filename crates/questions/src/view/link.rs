//! One link: who uses it, and which links its users could take in its place.

use super::Seen;
use crate::Heard;
use crate::traffic::{Pattern, about_traffic};
use crate::values::{Numbers, Size};
use hotlink_fabric::network::{Node, Resource};
use hotlink_study::Error;
use serde::Deserialize;
use serde_json::{Value, json};

about_traffic! {
    /// One link.
    LinkView {
        fabric: String = String::new(),
        nodes: Option<Numbers> = None,
        link: u32 = 0,
    }
}

impl LinkView {
    /// The link's load, its users, and its alternatives.
    ///
    /// # Errors
    /// As `analyze`; several sizes; a link that is not there.
    pub fn answer(&self, heard: &Heard) -> Result<Value, Error> {
        let seen = Seen::of(&self.pattern(), &self.fabric, self.nodes.as_ref(), heard)?;
        let channel = seen.channel(self.link)?;
        let users = seen.question.users(&seen.counted, channel);
        let users = users.map_err(|error| Error::Input(format!("link: {error}")))?;
        let name = |node: Node| seen.fabric().resource_name(Resource::Vertex(node.vertex()));
        let user =
            |(from, to, share): &(Node, Node, f64)| json!({ "from": name(*from), "to": name(*to), "share": share });
        let mut answer = seen.link(channel);
        answer["users"] = users.first.iter().map(user).collect();
        answer["users_total"] = users.total.into();
        let some = |counts: &[u64]| counts.iter().filter(|count| **count > 0).count();
        answer["senders_total"] = some(&users.sends).into();
        answer["receivers_total"] = some(&users.hears).into();
        answer["alternatives"] = users.alternatives.iter().map(|other| seen.link(*other)).collect();
        Ok(answer)
    }
}
