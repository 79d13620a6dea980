//! Handles: the object of an opaque number of the ABI.

use crate::abi::Handle;
use std::cell::{Ref, RefCell};

/// Bits of a handle below those that name its kind.
const BITS: u32 = 26;

/// Objects of one kind by handle. A handle holds its kind, so that one of another kind is noticed.
pub(crate) struct Table<T> {
    kind: Handle,
    slots: RefCell<Slots<T>>,
}

struct Slots<T> {
    objects: Vec<Option<T>>,
    vacant: Vec<usize>,
}

impl<T: Clone> Table<T> {
    /// `kind` is from 1 to 31: handles are never as small as predefined ones, and fit into an `int`.
    pub(crate) fn new(kind: Handle) -> Table<T> {
        Table { kind, slots: RefCell::new(Slots { objects: Vec::new(), vacant: Vec::new() }) }
    }
    pub(crate) fn add(&self, object: T) -> Handle {
        let mut slots = self.slots.borrow_mut();
        let index = slots.vacant.pop().unwrap_or_else(|| {
            slots.objects.push(None);
            slots.objects.len() - 1
        });
        slots.objects[index] = Some(object);
        self.kind << BITS | index
    }
    /// How many handles have an object.
    pub(crate) fn count(&self) -> usize {
        let slots = self.slots.borrow();
        slots.objects.len() - slots.vacant.len()
    }
    /// Whether no handle has an object.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }
    /// The objects of all handles.
    pub(crate) fn all(&self) -> Vec<T> {
        self.slots.borrow().objects.iter().flatten().cloned().collect()
    }
    /// The handle of an object for which `holds` is true.
    pub(crate) fn find(&self, holds: impl Fn(&T) -> bool) -> Option<Handle> {
        let slots = self.slots.borrow();
        let index = slots.objects.iter().position(|object| object.as_ref().is_some_and(&holds))?;
        Some(self.kind << BITS | index)
    }
    /// Removes what does not hold.
    pub(crate) fn retain(&self, holds: impl Fn(&T) -> bool) {
        let mut slots = self.slots.borrow_mut();
        let Slots { objects, vacant } = &mut *slots;
        for (index, slot) in objects.iter_mut().enumerate() {
            if slot.as_ref().is_some_and(|object| !holds(object)) {
                *slot = None;
                vacant.push(index);
            }
        }
    }
    fn index(&self, handle: Handle) -> Option<usize> {
        (handle >> BITS == self.kind).then_some(handle & ((1 << BITS) - 1))
    }
    /// An object where it is: nothing may be put into the table meanwhile, or taken out.
    #[inline(always)]
    pub(crate) fn look(&self, handle: Handle) -> Option<Ref<'_, T>> {
        let index = self.index(handle)?;
        Ref::filter_map(self.slots.borrow(), |slots| slots.objects.get(index)?.as_ref()).ok()
    }
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<T> {
        let index = self.index(handle)?;
        self.slots.borrow().objects.get(index).cloned().flatten()
    }
    /// Puts another object in place.
    pub(crate) fn replace(&self, handle: Handle, object: T) {
        if let Some(index) = self.index(handle)
            && let Some(slot) = self.slots.borrow_mut().objects.get_mut(index)
        {
            *slot = Some(object);
        }
    }
    pub(crate) fn remove(&self, handle: Handle) -> Option<T> {
        let index = self.index(handle)?;
        let mut slots = self.slots.borrow_mut();
        let object = slots.objects.get_mut(index)?.take();
        if object.is_some() {
            slots.vacant.push(index);
        }
        object
    }
}
