spillway run policy_list.yaml --set policy.name.x=1
