"""What clients send, checked, and what an error looks like to them."""
