/// Why a text is not in force everywhere, for people.
package struct SharingFailure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}
