//! A fabric as a matrix of groups, and its fullest links.

use super::Seen;
use super::groups::{Groups, levels};
use crate::Heard;
use crate::traffic::{Pattern, about_traffic};
use crate::values::{Numbers, Size};
use hotlink_fabric::network::Channel;
use hotlink_study::Error;
use serde::Deserialize;
use serde_json::{Value, json};

/// Links that are listed.
const HOT: usize = 200;
/// Links of hosts among them: they are alike, and in a full tree all of them are fuller than any link between switches. A
/// page shows a dozen links first.
const HOT_OF_HOSTS: usize = 4;

about_traffic! {
    /// The fabric group by group.
    FabricView {
        fabric: String = String::new(),
        nodes: Option<Numbers> = None,
    }
}

impl FabricView {
    /// Groups, the matrix of the fullest links between them, and the fullest links (some of them of hosts).
    ///
    /// # Errors
    /// As `analyze`; several sizes.
    pub fn answer(&self, heard: &Heard) -> Result<Value, Error> {
        let seen = Seen::of(&self.pattern(), &self.fabric, self.nodes.as_ref(), heard)?;
        let (fabric, groups) = (seen.fabric(), Groups::of(seen.fabric()));
        let (network, count) = (&fabric.network, groups.all.len());
        let mut matrix = vec![-1.0f64; count * count];
        let shares: Vec<f64> = seen.channels().map(|channel| seen.share(channel)).collect();
        for channel in seen.channels() {
            let [from, to] = [network.from(channel), network.to(channel)].map(|v| groups.of[v.0 as usize]);
            let cell = &mut matrix[from * count + to];
            *cell = cell.max(shares[channel.0 as usize]);
        }
        let mut hot: Vec<Channel> = seen.channels().collect();
        hot.sort_by(|a, b| shares[b.0 as usize].total_cmp(&shares[a.0 as usize]).then(a.cmp(b)));
        let of_host = |c: Channel| network.is_node(network.from(c)) || network.is_node(network.to(c));
        let mut hosts = 0..HOT_OF_HOSTS;
        hot.retain(|&channel| {
            network.vertices() == network.nodes as usize || !of_host(channel) || hosts.next().is_some()
        });
        hot.truncate(HOT);
        let group = |group: &super::groups::Group| json!({ "name": group.name, "hosts": group.hosts, "switches": group.switches });
        Ok(json!({
            "hosts": network.nodes,
            "switches": network.vertices() - network.nodes as usize,
            "links": network.channels(),
            "levels": levels(fabric),
            "groups": groups.all.iter().map(group).collect::<Vec<_>>(),
            "matrix": { "rows": count, "cols": count, "load": matrix },
            "hot": hot.into_iter().map(|channel| seen.link(channel)).collect::<Vec<_>>(),
        }))
    }
}
