/// A stream, as its loop knows it: it asks the loop to be called in the course of a turn.
protocol TurnMember: Pollable {
    /// Reads what no event will announce.
    func readFurther()
    /// Sends what is staged.
    func sendStaged()
    /// Sends what waits. Answers whether more will wait.
    func sendHeld() -> Bool
    /// Gives everything back, and tells the handler of the end.
    func finishClosing()
    func abort(_ reason: CloseReason)
}
