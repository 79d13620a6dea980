//! Words: the values of an option, each with its one name and meaning. A face takes both from here, so that no word is
//! in two places.
//!
//! ```
//! hotlink_bench::words! {
//!     /// How to go.
//!     pub enum Pace {
//!         /// Step by step.
//!         Slow = "slow",
//!         /// In one go.
//!         Fast = "fast",
//!     }
//! }
//! use hotlink_bench::words::Word;
//! assert_eq!("fast".parse(), Ok(Pace::Fast));
//! assert_eq!((Pace::Slow.to_string().as_str(), Pace::Slow.meaning()), ("slow", "Step by step"));
//! assert_eq!("quick".parse::<Pace>(), Err("`quick` is unknown; allowed: slow, fast".to_owned()));
//! ```

/// A value that is named by a word.
pub trait Word: Copy + Send + Sync + 'static {
    /// Every value, in the order in which they are listed for people.
    const ALL: &'static [Self];
    /// The word.
    fn word(self) -> &'static str;
    /// Its meaning, as half a sentence.
    fn meaning(self) -> &'static str;
    /// Other words that mean the same.
    fn aliases(self) -> &'static [&'static str] {
        &[]
    }
    /// The value of a word.
    fn of(text: &str) -> Option<Self> {
        let is = |word: &&str| *word == text;
        Self::ALL.iter().copied().find(|value| is(&value.word()) || value.aliases().iter().any(is))
    }
    /// The error of a word that is none.
    fn unknown(text: &str) -> String {
        let allowed: Vec<&str> = Self::ALL.iter().map(|value| value.word()).collect();
        format!("`{text}` is unknown; allowed: {}", allowed.join(", "))
    }
}

/// An enum whose values are words, with `name`, `Display`, `FromStr` and serde by them.
#[macro_export]
macro_rules! words {
    ($(#[$of:meta])* $vis:vis enum $name:ident {
        $($(#[doc = $doc:literal])+ $value:ident = $word:literal $(| $alias:literal)*,)+
    }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[doc = $doc])+ $value,)+
        }

        impl $name {
            /// The word that names it.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $word,)+
                }
            }
        }

        impl $crate::words::Word for $name {
            const ALL: &'static [$name] = &[$($name::$value),+];
            fn word(self) -> &'static str {
                self.name()
            }
            fn aliases(self) -> &'static [&'static str] {
                match self {
                    $($name::$value => &[$($alias),*],)+
                }
            }
            fn meaning(self) -> &'static str {
                let text = match self {
                    $($name::$value => concat!($($doc),+),)+
                };
                text.trim().trim_end_matches('.')
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<$name, String> {
                <$name as $crate::words::Word>::of(text)
                    .ok_or_else(|| <$name as $crate::words::Word>::unknown(text))
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = <std::borrow::Cow<'de, str> as $crate::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    };
}
