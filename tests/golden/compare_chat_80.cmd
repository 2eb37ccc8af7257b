COLUMNS=80 spillway compare chat.yaml --policy resident,demand,prefetch,split --set machine.gpu="{use: rtx4090, memory: {capacity: 4 GiB}}"
