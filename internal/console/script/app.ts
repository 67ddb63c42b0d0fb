import "./live"
import "./keyboard"
import "./selection"
