//! The topology that a file states: any entry of the registry.

use super::Topology;
use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

/// The shape of the network; sizes that depend on the number of nodes are computed when it is built.
#[derive(Clone, Debug)]
pub struct TopologySpec(Arc<dyn Topology>);

impl TopologySpec {
    /// One of the kinds.
    pub fn new(topology: impl Topology) -> TopologySpec {
        TopologySpec(Arc::new(topology))
    }
    /// Its parameters, if it is of this kind, for questions about one kind alone, such as a closed form of rings.
    pub fn get<T: Topology>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }
    /// Whether it is of this kind.
    pub fn is<T: Topology>(&self) -> bool {
        self.get::<T>().is_some()
    }
}

impl Deref for TopologySpec {
    type Target = dyn Topology;
    fn deref(&self) -> &(dyn Topology + 'static) {
        &*self.0
    }
}

impl PartialEq for TopologySpec {
    fn eq(&self, other: &TopologySpec) -> bool {
        self.kind() == other.kind() && self.fields() == other.fields()
    }
}
