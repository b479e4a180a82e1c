/// A secret that must not get into logs and messages by its description: tokens, passwords, addresses with tokens in
/// them.
package protocol Secret: CustomStringConvertible, CustomReflectable {}

extension Secret {
    package var description: String { "(secret)" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
